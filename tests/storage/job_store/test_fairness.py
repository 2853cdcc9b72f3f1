"""Who is served next: classes, tenants and jobs in turn, and no job opens more than its window."""

from __future__ import annotations

from collections import Counter

import pytest
import redis

from rhapsode.contract.jobs.states import JobClass, Priority
from storage.ids import JobId, TenantId
from storage.job_store.store import JobStore
from storage.jobs.tickets import Tickets
from storage.jobs.work_items import PlanResult
from storage.jobs.work_queues import CPU_QUEUE, speech_queue
from storage.queue.worker_slots import TTL_S, WorkerSlots
from tests.storage.job_store.job_driver import (
    ALICE,
    BOB,
    GPU_QUEUE,
    TEST_CLOCK,
    Clock,
    claim,
    open_store,
    report,
    start_job,
    submission,
)

BOOK_SEGMENTS = 5_000
BOOK_AUDIO_MS = BOOK_SEGMENTS * 12_000


def claimed_jobs(store: JobStore, count: int) -> list[JobId]:
    """The jobs of the next `count` segments, each of which is finished at once."""
    jobs = []
    for _ in range(count):
        item = claim(store, GPU_QUEUE)
        store.commit_segment(item.lease, report())
        jobs.append(item.lease.job)
    return jobs


def test_a_short_job_passes_another_tenants_book(store: JobStore) -> None:
    start_job(store, BOOK_SEGMENTS, submission(ALICE, BOOK_AUDIO_MS))
    claimed_jobs(store, 10)
    short = start_job(store, 2, submission(BOB, 20_000, Priority.LOW))

    served = claimed_jobs(store, 6)

    assert served.count(short.id) == 2


def test_a_quick_job_passes_its_own_tenants_book(store: JobStore) -> None:
    start_job(store, BOOK_SEGMENTS, submission(ALICE, BOOK_AUDIO_MS))
    claimed_jobs(store, 10)
    quick = start_job(store, 1, submission(ALICE, 5_000))

    assert quick.id in claimed_jobs(store, 2)


def test_plans_of_one_tenant_do_not_keep_another_waiting(store: JobStore) -> None:
    for _ in range(200):
        store.submit(submission(ALICE))
    short = store.submit(submission(BOB)).job

    served = [claim(store, CPU_QUEUE).lease.job for _ in range(6)]

    assert short.id in served


def test_tenants_share_by_audio_and_not_by_items(store: JobStore) -> None:
    long_items = start_job(store, 500, submission(ALICE, 500 * 15_000))
    short_items = start_job(store, 2_000, submission(BOB, 2_000 * 3_000))

    served = Counter(claimed_jobs(store, 600))

    assert served[long_items.id] * 15_000 == pytest.approx(served[short_items.id] * 3_000, rel=0.05)


def test_a_segment_above_the_quantum_is_served_in_proportion(store: JobStore) -> None:
    huge = start_job(store, 500, submission(ALICE, 500 * 45_000))
    usual = start_job(store, 2_000, submission(BOB, 2_000 * 15_000))

    served = Counter(claimed_jobs(store, 200))

    assert served[huge.id] * 3 == pytest.approx(served[usual.id], rel=0.1)


def test_jobs_of_one_tenant_take_turns(store: JobStore) -> None:
    jobs = [start_job(store, 50, submission(ALICE, 600_000)).id for _ in range(3)]

    assert claimed_jobs(store, 9) == jobs * 3


def test_interactive_work_gets_four_of_five(store: JobStore) -> None:
    book = start_job(store, BOOK_SEGMENTS, submission(ALICE, BOOK_AUDIO_MS))
    quick = start_job(store, 100, submission(BOB, 100 * 12_000, Priority.HIGH))

    served = claimed_jobs(store, 50)

    assert Counter(served) == {quick.id: 40, book.id: 10}
    assert all(book.id in served[i : i + 5] for i in range(46))


def test_an_item_says_which_class_it_was_served_in(store: JobStore) -> None:
    start_job(store, 1, submission(ALICE, BOOK_AUDIO_MS))
    start_job(store, 1, submission(BOB, 12_000, Priority.HIGH))

    claimed = [claim(store, GPU_QUEUE) for _ in range(2)]

    assert {(item.lease.tenant, item.job_class) for item in claimed} == {
        (ALICE, JobClass.BULK),
        (BOB, JobClass.INTERACTIVE),
    }


def test_a_class_alone_gets_everything(store: JobStore) -> None:
    book = start_job(store, 100, submission(ALICE, BOOK_AUDIO_MS))

    assert set(claimed_jobs(store, 20)) == {book.id}


@pytest.mark.parametrize("window", [1, 8])
def test_a_job_opens_no_more_than_its_window(redis_client: redis.Redis, clock: Clock, window: int) -> None:
    store = open_store(redis_client, window=window)
    store.submit(submission(audio_ms=BOOK_AUDIO_MS))
    plan = claim(store, CPU_QUEUE)

    opened = store.commit_plan(plan.lease, PlanResult("plan", BOOK_SEGMENTS, BOOK_AUDIO_MS))

    assert opened == Tickets({GPU_QUEUE: window})
    open_items = [claim(store, GPU_QUEUE) for _ in range(window)]
    assert store.ready_counts()[GPU_QUEUE] == 0
    for item in open_items:
        assert store.commit_segment(item.lease, report()) == Tickets({GPU_QUEUE: 1})
    assert store.ready_counts()[GPU_QUEUE] == window


def test_the_window_follows_the_slots_of_the_models_workers(redis_client: redis.Redis, clock: Clock) -> None:
    store, fleet = open_store(redis_client), WorkerSlots(redis_client, clock=TEST_CLOCK)
    start_job(store, BOOK_SEGMENTS, submission(audio_ms=BOOK_AUDIO_MS))
    assert store.ready_counts()[GPU_QUEUE] == 32

    fleet.announce(GPU_QUEUE, "w1", 128)
    fleet.announce(GPU_QUEUE, "w2", 128)
    fleet.announce(speech_queue("another"), "w3", 1024)
    claimed_jobs(store, 2)
    assert store.ready_counts()[GPU_QUEUE] == 384

    clock.advance(TTL_S + 1)
    fleet.announce(GPU_QUEUE, "w2", 128)
    claimed_jobs(store, 384 - 192)
    assert store.ready_counts()[GPU_QUEUE] == 192
    fleet.leave(GPU_QUEUE, "w2")
    claimed_jobs(store, 192 - 32)
    assert store.ready_counts()[GPU_QUEUE] == 32


def test_jobs_of_a_tenant_share_its_window_and_tenants_do_not(redis_client: redis.Redis, clock: Clock) -> None:
    store, fleet = open_store(redis_client), WorkerSlots(redis_client, clock=TEST_CLOCK)
    fleet.announce(GPU_QUEUE, "w", 256)
    alices = [start_job(store, BOOK_SEGMENTS, submission(ALICE, BOOK_AUDIO_MS)) for _ in range(12)]
    bobs = start_job(store, BOOK_SEGMENTS, submission(BOB, BOOK_AUDIO_MS))
    claimed_jobs(store, 2_000)

    opened = {job.id: redis_client.llen(f"{{rhapsode}}:ready:{GPU_QUEUE}:{job.id}") for job in [*alices, bobs]}

    assert opened[bobs.id] == 384
    assert sum(opened[job.id] for job in alices) <= 12 * 32 + 384


def test_a_hundred_tenants_are_all_served_in_one_round(store: JobStore) -> None:
    tenants = [TenantId(f"tenant-{i}") for i in range(100)]
    jobs = {start_job(store, 5, submission(tenant, 5 * 12_000)).id for tenant in tenants}

    assert set(claimed_jobs(store, 200)) == jobs
