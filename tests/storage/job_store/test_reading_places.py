"""How many documents and long texts of one tenant are read at a time, and who is served meanwhile."""

from __future__ import annotations

from dataclasses import replace

import pytest
import redis

from rhapsode.contract.jobs.input import DocumentFormat, NarrationInput, SourceType
from rhapsode.contract.jobs.states import JobState
from storage.ids import TenantId
from storage.job_store.store import JobStore
from storage.jobs.record import JobError, JobRecord
from storage.jobs.submissions import BULKY_CHARS, Submission
from storage.jobs.work_items import ClaimedItem, PlanResult, ReleaseReason
from storage.jobs.work_queues import CPU_QUEUE
from storage.queue.worker_slots import WorkerSlots
from tests.storage.job_store.job_driver import (
    ALICE,
    BOB,
    LEASE_S,
    SPEC,
    TEST_CLOCK,
    WORKER,
    Clock,
    open_store,
    submission,
)

PLACES = 4
BOOK = SPEC.asking(input=NarrationInput(type=SourceType.DOCUMENT, format=DocumentFormat.EPUB))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(redis_client: redis.Redis, clock: Clock) -> JobStore:
    WorkerSlots(redis_client, clock=TEST_CLOCK).announce(CPU_QUEUE, "cpu-1", PLACES)
    return open_store(redis_client)


def book(tenant: TenantId = ALICE) -> Submission:
    return replace(submission(tenant), spec=BOOK)


def submitted(store: JobStore, wanted: Submission) -> JobRecord:
    return store.submit(wanted).job


def planned(store: JobStore, item: ClaimedItem) -> None:
    store.commit_plan(item.lease, PlanResult("plan", 1, 60_000))


def claimed_all(store: JobStore) -> list[ClaimedItem]:
    found: list[ClaimedItem] = []
    while item := store.claim(CPU_QUEUE, WORKER, LEASE_S).item:
        found.append(item)
    return found


def test_a_tenants_documents_take_half_of_the_places_and_others_have_the_rest(store: JobStore) -> None:
    books = [submitted(store, book()).id for _ in range(5)]
    short = [submitted(store, submission(ALICE)).id, submitted(store, submission(BOB)).id]

    found = [item.lease.job for item in claimed_all(store)]

    assert sorted(found) == sorted([*books[:2], *short])
    assert store.audit_counters() == ()


def test_a_long_text_counts_as_a_document_does(store: JobStore) -> None:
    for _ in range(3):
        submitted(store, replace(submission(), input_chars=BULKY_CHARS + 1))

    assert len(claimed_all(store)) == 2


def test_the_next_document_is_read_when_one_has_been_in_the_order_in_which_they_came(store: JobStore) -> None:
    books = [submitted(store, book()).id for _ in range(4)]
    first, second = claimed_all(store)

    planned(store, second)
    (third,) = claimed_all(store)
    tickets = store.fail(first.lease, JobError("unsupported_media", "no book"))
    (fourth,) = claimed_all(store)

    assert [first.lease.job, second.lease.job, third.lease.job, fourth.lease.job] == books
    assert tickets[CPU_QUEUE] == 1
    assert store.audit_counters() == ()


@pytest.mark.parametrize("end", ["release", "cancel", "worker lost"])
def test_a_place_is_free_however_the_reading_ends(store: JobStore, end: str) -> None:
    for _ in range(3):
        submitted(store, book())
    first, _ = claimed_all(store)

    if end == "release":
        store.release(first.lease, ReleaseReason.SHUTDOWN)
    elif end == "cancel":
        store.cancel(ALICE, first.lease.job)
        store.extend([first.lease], LEASE_S)
    else:
        store.release_worker(replace(WORKER, boot_id="second"))

    assert len(claimed_all(store)) == (2 if end == "worker lost" else 1)
    assert store.audit_counters() == ()


def test_one_that_waits_can_be_cancelled_and_paused(store: JobStore) -> None:
    books = [submitted(store, book()).id for _ in range(5)]
    first, _ = claimed_all(store)

    store.cancel(ALICE, books[2])
    store.pause(ALICE, books[3])
    planned(store, first)

    assert store.get(ALICE, books[2]).state is JobState.CANCELLED
    assert [item.lease.job for item in claimed_all(store)] == [books[4]]
    store.resume(ALICE, books[3])
    assert claimed_all(store) == []
    assert store.audit_counters() == ()


def test_one_that_is_not_called_looks_again_by_itself(store: JobStore, redis_client: redis.Redis, clock: Clock) -> None:
    for _ in range(3):
        submitted(store, book())
    held = [item.lease for item in claimed_all(store)]
    # As in a copy of the database that lost something.
    redis_client.delete(f"{{rhapsode}}:unread:{ALICE}", f"{{rhapsode}}:reading:{ALICE}")

    clock.advance(61)
    WorkerSlots(redis_client, clock=TEST_CLOCK).announce(CPU_QUEUE, "cpu-1", PLACES)
    store.extend(held, 100)
    store.reap(10)

    assert len(claimed_all(store)) == 1


def test_without_a_word_of_how_many_places_there_are_no_plan_waits(redis_client: redis.Redis) -> None:
    Clock()
    store = open_store(redis_client)
    for _ in range(3):
        submitted(store, book())

    assert len(claimed_all(store)) == 3
