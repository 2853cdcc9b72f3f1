"""What endpoints are told, and what becomes of each delivery: who gets it, when, how often, and when it ends."""

from __future__ import annotations

import json
import threading
from dataclasses import replace

import pytest

from rhapsode.contract.jobs.states import JobState
from rhapsode.contract.webhook_events import FINAL_JOB_EVENTS
from rhapsode.contract.webhooks import ROTATION_OVERLAP_S, DeliveryState, DisabledReason, EndpointState
from storage.database.keys import WebhookKeys
from storage.errors import QuotaExceeded
from storage.jobs.delivery_limits import (
    BREAKER_FAILURES,
    FIRST_REST_MS,
    KEPT_DELIVERIES,
    MAX_ENDPOINTS,
    MAX_IN_FLIGHT,
    MAX_WAITING,
)
from storage.jobs.webhook_target import WebhookTarget
from storage.jobs.work_items import WorkerIdentity
from storage.jobs.work_queues import HOOKS_QUEUE
from storage.webhooks.deliveries import LEASE_S
from storage.webhooks.errors import DeliveryBusy, DeliveryNotFound, EndpointDisabled, EndpointGone, EndpointNotFound
from storage.webhooks.records import (
    EndpointUpdate,
)
from tests.storage.job_store.job_driver import ALICE, BOB, submission
from tests.storage.webhooks.world import HOOKS, URL, WebhookWorld, at_url
from tests.threads import join_in_time

EVERYTHING: frozenset[DeliveryState] = frozenset()


def types(world: WebhookWorld) -> list[str]:
    """The events that can be claimed, in the order in which they are."""
    told: list[str] = []
    while (claimed := world.claim()) is not None:
        told.append(claimed.record.type)
        world.succeed(claimed)
    return told


def test_an_endpoint_is_told_of_what_it_chose_and_of_nothing_else(world: WebhookWorld) -> None:
    world.endpoint(("job.created", "job.cancelled"))

    world.end_job()

    assert types(world) == ["job.created", "job.cancelled"]


def test_a_job_that_nobody_wants_to_hear_of_leaves_no_trace(world: WebhookWorld) -> None:
    world.endpoint(("voice.created",))
    world.endpoint(("*",), tenant=BOB)

    job = world.end_job()

    assert world.store.job_deliveries(ALICE, job) == []
    assert world.claim() is None


def test_a_jobs_own_url_and_the_endpoints_are_told_apart(world: WebhookWorld) -> None:
    endpoint = world.endpoint(("job.cancelled",))

    world.end_job(webhook=at_url("https://other.example/hook"))

    one, other = world.take(), world.take()
    assert {one.url, other.url} == {URL, "https://other.example/hook"}
    assert one.record.id != other.record.id
    assert {one.record.endpoint, other.record.endpoint} == {endpoint.id, None}


def test_what_a_job_says_of_an_endpoint_counts_in_place_of_what_that_endpoint_chose(world: WebhookWorld) -> None:
    endpoint = world.endpoint(("job.cancelled", "job.created"))
    silent = world.endpoint(("voice.created",))

    world.end_job(webhook=WebhookTarget(endpoint.target, ("job.created",), endpoint.id))
    world.end_job(webhook=WebhookTarget(silent.target, FINAL_JOB_EVENTS, silent.id))

    told: list[tuple[str | None, str]] = []
    while (claimed := world.claim()) is not None:
        told.append((claimed.record.endpoint, claimed.record.type))
        world.succeed(claimed)
    assert sorted(told) == sorted(
        [
            (endpoint.id, "job.created"),
            (silent.id, "job.cancelled"),
            # The second job says nothing of this endpoint.
            (endpoint.id, "job.created"),
            (endpoint.id, "job.cancelled"),
        ]
    )


def test_the_intent_is_in_the_same_script_as_the_end_and_its_ticket_comes_with_it(world: WebhookWorld) -> None:
    world.endpoint(("job.cancelled",))
    wanted = world.submit()

    outcome = world.jobs.cancel(ALICE, wanted.id)

    assert outcome.job.state is JobState.CANCELLED
    assert outcome.tickets == {HOOKS_QUEUE: 1}
    assert world.queue.due() == {HOOKS_QUEUE: 1}


def test_a_repeated_end_makes_no_second_delivery(world: WebhookWorld) -> None:
    world.endpoint(("job.cancelled",))
    job = world.end_job()

    for _ in range(3):
        world.jobs.cancel(ALICE, job)

    assert len(world.store.job_deliveries(ALICE, job)) == 1


def test_the_same_end_reached_again_from_an_old_copy_of_the_database_has_the_same_id(world: WebhookWorld) -> None:
    endpoint = world.endpoint(("job.cancelled",))
    wanted = world.submit()
    copies = {key: world.client.dump(key) for key in world.client.scan_iter()}
    world.jobs.cancel(ALICE, wanted.id)
    (first,) = world.store.job_deliveries(ALICE, wanted.id)

    world.client.flushdb()
    for key, copy in copies.items():
        assert copy is not None
        world.client.restore(key, 0, copy)
    world.clock.advance(60)
    world.jobs.cancel(ALICE, wanted.id)

    (second,) = world.store.job_deliveries(ALICE, wanted.id)
    assert second.id == first.id
    assert second.endpoint == endpoint.id


def test_facts_hold_what_a_payload_needs_and_no_text(world: WebhookWorld) -> None:
    world.endpoint(("job.cancelled",))
    world.end_job()

    facts = json.loads(world.take().record.facts or "")

    assert facts["state"] == "cancelled"
    assert json.loads(facts["error"])["code"] == "cancelled_by_user"
    assert not {"spec", "input_key", "plan_key"} & facts.keys()


def test_the_first_body_counts_for_every_attempt(world: WebhookWorld) -> None:
    world.endpoint(("job.cancelled",))
    world.end_job()
    claimed = world.take()

    assert world.queue.freeze({claimed.record.id: "first"}) == {claimed.record.id: "first"}
    assert world.queue.freeze({claimed.record.id: "second"}) == {claimed.record.id: "first"}
    world.fail(claimed)
    world.clock.advance(5)

    again = world.take()
    assert (again.record.id, again.record.body, again.record.facts) == (claimed.record.id, "first", None)


# Attempts, retries, the end


def test_a_failed_attempt_is_due_again_after_its_delay_and_not_before(world: WebhookWorld) -> None:
    world.endpoint(("job.cancelled",))
    world.end_job()

    assert world.fail(world.take(), 5_000) is DeliveryState.PENDING
    world.clock.advance(4.9)
    assert world.claim() is None
    assert world.queue.due().total() == 0
    world.clock.advance(0.1)
    assert world.queue.due().total() == 1
    claimed = world.take()

    assert (claimed.record.tries, claimed.record.attempts) == (1, 1)


def test_a_delivery_without_another_attempt_has_failed_and_can_be_sent_again(world: WebhookWorld) -> None:
    world.endpoint(("job.cancelled",))
    job = world.end_job()
    claimed = world.take()

    assert world.fail(claimed, None) is DeliveryState.FAILED
    assert world.claim() is None
    sent = world.store.redeliver(ALICE, claimed.record.id)

    assert (sent.state, sent.tries) == (DeliveryState.PENDING, 0)
    assert world.succeed(world.take()) is DeliveryState.DELIVERED
    (record,) = world.store.job_deliveries(ALICE, job)
    assert (record.state, record.attempts) == (DeliveryState.DELIVERED, 2)
    assert [attempt.status for attempt in world.store.delivery_with_attempts(ALICE, record.id)[1]] == [500, 200]


def test_one_that_waits_can_be_sent_now_and_one_under_way_cannot(world: WebhookWorld) -> None:
    world.endpoint(("job.cancelled",))
    world.end_job()
    claimed = world.take()

    with pytest.raises(DeliveryBusy):
        world.store.redeliver(ALICE, claimed.record.id)
    world.fail(claimed, 3_600_000)
    world.store.redeliver(ALICE, claimed.record.id)

    assert world.take().record.id == claimed.record.id


def test_a_verdict_that_is_said_twice_counts_once(world: WebhookWorld) -> None:
    world.endpoint(("job.cancelled",))
    world.end_job()
    claimed = world.take()

    assert world.succeed(claimed) is DeliveryState.DELIVERED
    assert world.succeed(claimed) is DeliveryState.DELIVERED

    assert len(world.store.delivery_with_attempts(ALICE, claimed.record.id)[1]) == 1


def test_an_attempt_whose_worker_fell_silent_is_made_again_and_its_late_verdict_refused(world: WebhookWorld) -> None:
    world.endpoint(("job.cancelled",))
    world.end_job()
    late = world.take()
    world.clock.advance(LEASE_S - 1)
    assert world.queue.reap(10) == 0
    world.clock.advance(1)

    assert world.queue.reap(10) == 1
    again = world.take()

    assert again.record.id == late.record.id
    assert world.succeed(late) is None
    assert world.succeed(again) is DeliveryState.DELIVERED


def test_the_verdict_of_an_attempt_that_the_server_forgot_is_refused(world: WebhookWorld) -> None:
    """A killed server lacks its last second: the delivery waits again, and the counter has gone back."""
    world.endpoint(("job.cancelled",))
    world.end_job()
    counter = WebhookKeys("rhapsode").single("fence")
    forgotten = world.take()
    world.clock.advance(LEASE_S)
    assert world.queue.reap(10) == 1
    world.client.decr(counter)

    again = world.take()

    assert again.record.id == forgotten.record.id
    assert world.succeed(forgotten) is None
    assert world.succeed(again) is DeliveryState.DELIVERED


def test_a_worker_that_was_killed_takes_its_attempts_back_at_once(world: WebhookWorld) -> None:
    world.endpoint(("job.cancelled",))
    world.end_job()
    lost = world.take()

    assert world.queue.give_back(HOOKS) == 0
    assert world.queue.give_back(WorkerIdentity(HOOKS.name, "second")) == 1

    assert world.take().record.id == lost.record.id


# Targets


def test_a_target_has_one_attempt_at_a_time_until_it_took_one_and_then_four(world: WebhookWorld) -> None:
    world.endpoint(("job.cancelled",))
    for _ in range(8):
        world.end_job()
    first = world.take()
    assert world.claim() is None

    world.succeed(first)

    under_way = list(iter(world.claim, None))
    assert len(under_way) == MAX_IN_FLIGHT
    assert not any(each.is_suspect for each in under_way)


def test_a_target_that_fails_again_and_again_rests_and_its_first_success_ends_that(world: WebhookWorld) -> None:
    world.endpoint(("job.cancelled",))
    for _ in range(8):
        world.end_job()
    for _ in range(BREAKER_FAILURES):
        world.fail(world.take(), 60_000)

    assert world.claim() is None
    world.clock.advance(FIRST_REST_MS / 1000)
    probe = world.take()
    assert probe.is_suspect
    assert world.claim() is None
    world.succeed(probe)

    assert world.claim() is not None


def test_a_healthy_target_is_served_before_suspects_and_those_can_be_left_out(world: WebhookWorld) -> None:
    good = world.endpoint(("job.cancelled",))
    world.end_job()
    world.succeed(world.take())
    world.endpoint(("job.cancelled",), url="https://never.example/")

    world.end_job()

    first = world.take()
    assert (first.record.endpoint, first.is_suspect) == (good.id, False)
    assert world.claim(with_suspects=False) is None
    assert world.take().is_suspect


def test_targets_take_turns(world: WebhookWorld) -> None:
    one = world.endpoint(("job.cancelled",))
    two = world.endpoint(("job.created",), url="https://two.example/")
    world.end_job()
    for _ in range(2):
        world.succeed(world.take())
    for _ in range(6):
        world.end_job()

    order = [each.record.endpoint for each in iter(world.claim, None)]

    assert order[:4] in ([one.id, two.id] * 2, [two.id, one.id] * 2)
    assert len(order) == 2 * MAX_IN_FLIGHT


def test_a_receiver_that_asks_for_peace_gets_it_for_all_its_deliveries(world: WebhookWorld) -> None:
    world.endpoint(("job.cancelled",))
    world.end_job()
    world.end_job()

    world.fail(world.take(), 120_000, pause_ms=120_000)

    world.clock.advance(119)
    assert world.claim() is None
    world.clock.advance(1)
    assert world.claim() is not None


def test_a_receiver_that_is_gone_is_disabled_and_others_are_told(world: WebhookWorld) -> None:
    dying = world.endpoint(("job.cancelled",))
    watching = world.endpoint(("webhook_endpoint.disabled",), url="https://watch.example/")
    world.end_job()
    world.end_job()

    assert world.fail(world.take(), 5_000, is_gone=True) is DeliveryState.FAILED

    record = world.store.get(ALICE, dying.id)
    assert (record.state, record.disabled_reason) == (EndpointState.DISABLED, DisabledReason.GONE)
    told = world.take()
    assert (told.record.endpoint, told.record.type) == (watching.id, "webhook_endpoint.disabled")
    assert world.claim() is None
    states = {each.reason for each in world.store.list_deliveries(ALICE, dying.id, EVERYTHING, None, 10).entries}
    assert states == {"status", "endpoint_disabled"}


def test_an_endpoint_at_which_everything_fails_for_five_days_is_disabled(world: WebhookWorld) -> None:
    endpoint = world.endpoint(("job.cancelled",))
    for _ in range(6):
        world.end_job()
        world.fail(world.take(), None)
        assert world.store.get(ALICE, endpoint.id).state is EndpointState.ENABLED
        world.clock.advance(23 * 3600)
    world.end_job()
    world.fail(world.take(), None)

    record = world.store.get(ALICE, endpoint.id)
    assert (record.state, record.disabled_reason) == (EndpointState.DISABLED, DisabledReason.FAILING)


def test_an_endpoint_that_is_enabled_again_is_believed_again(world: WebhookWorld) -> None:
    endpoint = world.endpoint(("job.cancelled",))
    world.end_job()
    world.fail(world.take(), None, is_gone=True)
    world.end_job()
    assert world.claim() is None

    world.store.update(ALICE, endpoint.id, EndpointUpdate(state=EndpointState.ENABLED))
    world.end_job()

    assert world.store.get(ALICE, endpoint.id).failing_since_ms is None
    assert world.succeed(world.take()) is DeliveryState.DELIVERED


def test_what_waits_for_a_deleted_endpoint_is_given_up(world: WebhookWorld) -> None:
    endpoint = world.endpoint(("job.cancelled",))
    job = world.end_job()

    world.store.delete(ALICE, endpoint.id)
    world.store.delete(ALICE, endpoint.id)

    assert world.claim() is None
    (record,) = world.store.job_deliveries(ALICE, job)
    assert (record.state, record.reason) == (DeliveryState.FAILED, "endpoint_deleted")
    with pytest.raises(EndpointGone):
        world.store.get(ALICE, endpoint.id)


def test_only_the_last_thousand_ended_deliveries_of_a_target_are_kept(world: WebhookWorld) -> None:
    """With the store's limit on ended ones, Redis' memory does not grow with the number of jobs."""
    endpoint = world.endpoint(("job.created",))
    world.submit()
    world.succeed(world.take())
    before = len(list(world.client.scan_iter("*:w:*", count=1000)))
    script = "for i = 1, tonumber(ARGV[1]) do redis.call('ZADD', KEYS[1], i, 'evt_old' .. i) end"
    world.client.eval(script, 1, f"{{rhapsode}}:w:ended:{endpoint.target}", KEPT_DELIVERIES - 1)

    for _ in range(20):
        world.submit()
        world.succeed(world.take())

    assert world.client.zcard(f"{{rhapsode}}:w:ended:{endpoint.target}") == KEPT_DELIVERIES
    assert len(list(world.client.scan_iter("*:w:*", count=1000))) == before + 3 * 20


def test_what_too_many_wait_before_is_given_up_at_once_and_can_be_sent_again(world: WebhookWorld) -> None:
    endpoint = world.endpoint(("job.created",))
    key, later = f"{{rhapsode}}:w:waiting:{endpoint.target}", world.clock.now_ms + 3_600_000
    script = "for i = 1, tonumber(ARGV[1]) do redis.call('ZADD', KEYS[1], ARGV[2], 'evt_' .. i) end"
    world.client.eval(script, 1, key, MAX_WAITING, later)

    job = world.submit().id
    (record,) = world.store.job_deliveries(ALICE, job)
    world.client.delete(key)

    assert (record.state, record.reason) == (DeliveryState.FAILED, "too_many_waiting")
    assert world.store.redeliver(ALICE, record.id).state is DeliveryState.PENDING
    assert world.take().record.id == record.id


# Records


def test_foreign_endpoints_and_deliveries_do_not_exist(world: WebhookWorld) -> None:
    endpoint = world.endpoint(("job.cancelled",))
    job = world.end_job()
    (delivery,) = world.store.job_deliveries(ALICE, job)

    assert world.store.list(BOB) == []
    assert world.store.job_deliveries(BOB, job) == []
    for call in (
        lambda: world.store.get(BOB, endpoint.id),
        lambda: world.store.update(BOB, endpoint.id, EndpointUpdate(description="mine")),
        lambda: world.store.delete(BOB, endpoint.id),
        lambda: world.store.rotate(BOB, endpoint.id, "theirs", 0),
        lambda: world.store.send_test(BOB, endpoint.id, "call"),
        lambda: world.store.list_deliveries(BOB, endpoint.id, EVERYTHING, None, 10),
    ):
        with pytest.raises(EndpointNotFound):
            call()
    for call in (
        lambda: world.store.delivery(BOB, delivery.id),
        lambda: world.store.redeliver(BOB, delivery.id),
    ):
        with pytest.raises(DeliveryNotFound):
            call()


def test_a_rotated_secret_signs_beside_the_new_one_for_a_day(world: WebhookWorld) -> None:
    endpoint = world.endpoint(("job.created",))

    world.store.rotate(ALICE, endpoint.id, "new", ROTATION_OVERLAP_S)
    world.store.rotate(ALICE, endpoint.id, "new", ROTATION_OVERLAP_S)

    world.submit()
    claimed = world.take()
    assert [secret.sealed for secret in claimed.secrets] == ["new", "sealed"]
    world.fail(claimed, ROTATION_OVERLAP_S * 1000)
    world.clock.advance(ROTATION_OVERLAP_S)
    assert [secret.sealed for secret in world.take().secrets] == ["new"]


def test_a_tenants_secret_is_drawn_once(world: WebhookWorld) -> None:
    (first,) = world.store.tenant_secrets(ALICE, "first")

    assert world.store.tenant_secrets(ALICE, "second") == (first,)
    assert [each.sealed for each in world.store.rotate_tenant(ALICE, "third", 60)] == ["third", "first"]
    assert [each.sealed for each in world.store.tenant_secrets(BOB, "theirs")] == ["theirs"]


def test_a_test_is_delivered_whatever_the_endpoint_chose_unless_it_is_disabled(world: WebhookWorld) -> None:
    endpoint = world.endpoint(("voice.created",))

    sent = world.store.send_test(ALICE, endpoint.id, "call")
    assert world.store.send_test(ALICE, endpoint.id, "call").id == sent.id
    claimed = world.take()
    world.store.update(ALICE, endpoint.id, EndpointUpdate(state=EndpointState.DISABLED))

    assert claimed.record.id == sent.id
    with pytest.raises(EndpointDisabled):
        world.store.send_test(ALICE, endpoint.id, "other call")


def test_a_tenant_has_so_many_endpoints_and_no_more(world: WebhookWorld) -> None:
    for _ in range(MAX_ENDPOINTS):
        world.endpoint()

    with pytest.raises(QuotaExceeded):
        world.endpoint()
    assert len(world.store.list(ALICE)) == MAX_ENDPOINTS


def test_deliveries_are_listed_newest_first_page_by_page_and_by_state(world: WebhookWorld) -> None:
    endpoint = world.endpoint(("job.cancelled",))
    jobs = []
    for _ in range(5):
        jobs.append(world.end_job())
        world.clock.advance(1)
    world.succeed(world.take())

    first = world.store.list_deliveries(ALICE, endpoint.id, EVERYTHING, None, 3)
    rest = world.store.list_deliveries(ALICE, endpoint.id, EVERYTHING, first.next_after, 3)
    done = world.store.list_deliveries(ALICE, endpoint.id, frozenset({DeliveryState.DELIVERED}), None, 3)

    assert [each.job for each in first.entries + rest.entries] == jobs[::-1]
    assert rest.next_after is None
    assert [each.job for each in done.entries] == jobs[:1]


def test_a_job_past_its_deadline_tells_of_its_end_once(world: WebhookWorld) -> None:
    world.endpoint(("job.expired",))
    wanted = replace(submission(), deadline_ms=world.clock.now_ms + 10_000)
    world.jobs.submit(wanted)
    world.clock.advance(11)

    world.jobs.reap()
    world.jobs.reap()

    assert types(world) == ["job.expired"]


def test_a_delivery_and_its_attempts_are_read_of_one_moment(world: WebhookWorld) -> None:
    # Torn apart they say "sending" beside an attempt that arrived, and `rhapsode webhooks test` calls that a failure.
    world.endpoint(("job.created",))
    torn: list[str] = []
    for _ in range(100):
        world.submit()
        claimed = world.take()
        delivery = claimed.record.id
        worker = threading.Thread(target=world.succeed, args=(claimed,))
        worker.start()
        while True:
            record, attempts = world.store.delivery_with_attempts(ALICE, delivery)
            if (record.state is DeliveryState.DELIVERED) != bool(attempts):
                torn.append(delivery)
            if record.state is DeliveryState.DELIVERED:
                break
        join_in_time(worker)

    assert torn == []
