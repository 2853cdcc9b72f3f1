"""Claims of several items at a time, and which of them are worth a ticket."""

from __future__ import annotations

from dataclasses import replace

import pytest
import redis

from storage.database.functions import Functions, Reply
from storage.ids import TenantId
from storage.job_store.leases import Look
from storage.job_store.store import JobStore
from storage.jobs.submissions import Submission
from storage.jobs.tickets import Tickets
from storage.jobs.whole import WholePlan
from storage.jobs.work_items import WorkerIdentity
from storage.jobs.work_queues import CPU_QUEUE
from tests.storage.job_store.job_driver import ALICE, BOB, GPU_QUEUE, LEASE_S, TEST_CLOCK, WORKER, Clock, submission

ONE = Tickets({GPU_QUEUE: 1})
NONE = Tickets()
OTHER = WorkerIdentity("other", "first")
FIRST = Look(GPU_QUEUE, room=4, is_woken=True, is_last=True)
NEXT = Look(GPU_QUEUE, room=4, is_woken=False, is_last=False)
LAST = Look(GPU_QUEUE, room=4, is_woken=False, is_last=True)


def whole(tenant: TenantId = ALICE) -> Submission:
    return replace(submission(tenant), whole=WholePlan("a plan", 3_000, "Once"))


def claimed(store: JobStore, look: Look, worker: WorkerIdentity = WORKER) -> int:
    return len(store.claim_several(look, worker, LEASE_S).items)


def test_several_at_a_time_come_in_the_order_of_claims(
    store: JobStore, redis_client: redis.Redis, clock: Clock
) -> None:
    """Round the tenants, and round the jobs of each."""
    twin = JobStore(redis_client, "twin", clock=TEST_CLOCK)
    for wanted in [whole(tenant) for tenant in (ALICE, ALICE, ALICE, ALICE, BOB, BOB)]:
        store.submit(wanted)
        twin.submit(wanted)

    together = [item.lease.job for item in store.claim_several(NEXT, WORKER, LEASE_S).items]
    alone = [item.lease.job for _ in range(4) if (item := twin.claim(GPU_QUEUE, WORKER, LEASE_S).item)]

    assert together == alone


def test_each_has_a_lease_of_its_own(store: JobStore, clock: Clock) -> None:
    for _ in range(3):
        store.submit(whole())

    first, second, third = store.claim_several(NEXT, WORKER, LEASE_S).items

    assert first.lease.fence < second.lease.fence < third.lease.fence
    assert (first.attempt, first.plan_document) == (1, "a plan")


def test_a_repeated_call_is_given_the_same(
    store: JobStore, clock: Clock, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        store.submit(whole())
    functions = Functions(redis_client, "rhapsode", TEST_CLOCK)

    def call() -> Reply:
        return functions.call(
            "claim_several",
            queue=GPU_QUEUE,
            most=2,
            is_woken=False,
            is_last=False,
            worker="w",
            boot_id="1",
            lease_ms=10_000,
            call="the same",
        )

    first, second = call(), call()

    assert first.parts("items") == second.parts("items")
    assert store.ready_counts()[GPU_QUEUE] == 1


def test_without_workers_that_look_each_item_has_a_ticket(store: JobStore, clock: Clock) -> None:
    """As in a fleet of an earlier release."""
    assert [store.submit(whole()).tickets for _ in range(3)] == [ONE] * 3


def test_one_ticket_wakes_and_none_is_sent_while_a_worker_looks(store: JobStore, clock: Clock) -> None:
    store.look_away(GPU_QUEUE, WORKER)

    assert [store.submit(whole()).tickets for _ in range(3)] == [ONE, NONE, NONE]
    assert claimed(store, FIRST) == 3
    assert [store.submit(whole()).tickets for _ in range(2)] == [NONE, NONE]
    assert claimed(store, NEXT) == 2
    assert claimed(store, NEXT) == 0
    assert store.submit(whole()).tickets == NONE
    assert claimed(store, LAST) == 1


def test_behind_the_last_look_the_next_item_has_a_ticket(store: JobStore, clock: Clock) -> None:
    store.look_away(GPU_QUEUE, WORKER)
    assert claimed(store, NEXT) == 0
    assert claimed(store, LAST) == 0

    assert store.submit(whole()).tickets == ONE


def test_a_worker_without_room_wakes_another_for_what_is_left(store: JobStore, clock: Clock) -> None:
    store.look_away(GPU_QUEUE, WORKER)
    for _ in range(9):
        store.submit(whole())

    first = store.claim_several(FIRST, WORKER, LEASE_S)
    second = store.claim_several(FIRST, OTHER, LEASE_S)

    assert (len(first.items), first.tickets) == (4, ONE)
    assert (len(second.items), second.tickets) == (4, ONE)
    assert store.submit(whole()).tickets == NONE


def test_a_ticket_that_is_not_answered_is_followed_by_another(store: JobStore, clock: Clock) -> None:
    store.look_away(GPU_QUEUE, WORKER)
    assert store.submit(whole()).tickets == ONE
    clock.advance(4.9)
    assert store.submit(whole()).tickets == NONE
    clock.advance(0.2)

    assert store.submit(whole()).tickets == ONE


def test_a_worker_that_died_while_it_looked_is_believed_for_a_second(store: JobStore, clock: Clock) -> None:
    assert claimed(store, NEXT) == 0
    assert store.submit(whole()).tickets == NONE
    clock.advance(1.1)

    assert store.submit(whole()).tickets == ONE
    assert store.wanted_tickets()[GPU_QUEUE] == 1


def test_one_that_leaves_hands_over_what_is_ready_unless_another_looks(store: JobStore, clock: Clock) -> None:
    assert claimed(store, NEXT) == 0
    store.submit(whole())

    assert store.look_away(GPU_QUEUE, WORKER) == ONE

    assert claimed(store, NEXT, OTHER) == 1
    store.submit(whole())
    assert store.look_away(GPU_QUEUE, WORKER) == NONE


def test_the_lane_that_plans_has_a_ticket_for_each_item(store: JobStore, clock: Clock) -> None:
    store.look_away(GPU_QUEUE, WORKER)

    assert [store.submit(submission()).tickets for _ in range(2)] == [Tickets({CPU_QUEUE: 1})] * 2
    assert store.wanted_tickets()[CPU_QUEUE] == 2
