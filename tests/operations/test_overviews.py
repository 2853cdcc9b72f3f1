"""What operators are told: queues and waits, who works, what was given up, what an audit found."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
import redis

from rhapsode.contract.jobs.states import JobClass
from storage.job_store.counter_audit import CounterMismatch
from storage.jobs.record import JobError
from storage.jobs.work_queues import CPU_QUEUE
from storage.queue.dead_letters import DeadLetters, DeadLetterUnknown
from storage.queue.overview import QueueOverviews
from storage.queue.worker_registry import (
    DRAIN_HEARD_S,
    WorkerRegistry,
    WorkerReport,
    WorkerRole,
    WorkerState,
    WorkerUnknown,
)
from storage.recovery.audit_log import AuditLog
from tests.storage.job_store.job_driver import (
    ALICE,
    BOB,
    GPU_QUEUE,
    TEST_CLOCK,
    Clock,
    claim,
    open_store,
    start_job,
    submission,
)


def a_report(name: str, leases: int = 0) -> WorkerReport:
    return WorkerReport(name, WorkerRole.GPU, "host", 1, "0.1.0", 1_700_000_000_000, leases, "gpu.small", "small", 16)


def test_a_queue_is_shown_with_its_backlog_and_its_longest_wait(redis_client: redis.Redis) -> None:
    clock = Clock()
    store = open_store(redis_client)
    first = start_job(store, 3, submission(ALICE))
    clock.advance(7)
    start_job(store, 2, submission(BOB))
    clock.advance(5)

    queue = next(
        each for each in QueueOverviews(redis_client, clock=TEST_CLOCK).read().queues if each.name == GPU_QUEUE
    )

    shown = queue.classes[first.job_class]
    assert queue.ready_items == 5
    assert (shown.jobs, shown.tenants, shown.oldest_wait_ms) == (2, 2, 12_000)
    assert shown.backlog_ms > 0


def test_a_claim_says_how_long_its_job_had_waited_and_begins_the_wait_anew(redis_client: redis.Redis) -> None:
    clock = Clock()
    store = open_store(redis_client)
    start_job(store, 2)
    clock.advance(4)

    first = claim(store, GPU_QUEUE)
    clock.advance(3)
    second = claim(store, GPU_QUEUE)

    assert (first.waited_ms, second.waited_ms) == (4_000, 3_000)
    idle = QueueOverviews(redis_client, clock=TEST_CLOCK).read()
    assert all(each.oldest_wait_ms is None for queue in idle.queues for each in queue.classes.values())
    assert idle.leases == 2


def test_an_overview_of_nothing_has_the_cpu_queue_alone(redis_client: redis.Redis) -> None:
    seen = QueueOverviews(redis_client).read()

    assert [queue.name for queue in seen.queues] == [CPU_QUEUE]
    assert seen.audited is None
    assert set(seen.queues[0].classes) == set(JobClass)


def test_a_worker_told_to_drain_hears_of_it_and_is_shown_so(redis_client: redis.Redis) -> None:
    worker_registry = WorkerRegistry(redis_client)

    assert not worker_registry.report(a_report("gpu-0", leases=2))
    worker_registry.drain("gpu-0")

    assert worker_registry.report(a_report("gpu-0", leases=2))
    assert worker_registry.list()[0].state is WorkerState.DRAINING
    worker_registry.report(a_report("gpu-0"))
    # It may have claimed an item while the wish was on its way.
    assert worker_registry.list()[0].state is WorkerState.DRAINING
    redis_client.hset("{rhapsode}:draining", "gpu-0", round((time.time() - DRAIN_HEARD_S - 1) * 1000))
    assert worker_registry.list()[0].state is WorkerState.DRAINED
    # A busy worker may report late, and know of the wish only from then on.
    worker_registry.report(replace(a_report("gpu-0"), claims_nothing=False))
    assert worker_registry.list()[0].state is WorkerState.DRAINING
    worker_registry.undrain("gpu-0")
    assert not worker_registry.report(a_report("gpu-0"))
    assert worker_registry.list()[0].state is WorkerState.READY


def test_the_wish_to_drain_outlives_the_worker(redis_client: redis.Redis) -> None:
    worker_registry = WorkerRegistry(redis_client)
    worker_registry.report(a_report("gpu-0"))
    worker_registry.drain("gpu-0")

    worker_registry.leave("gpu-0")

    assert worker_registry.list() == ()
    assert worker_registry.report(a_report("gpu-0"))


def test_nobody_can_drain_a_worker_that_was_never_heard_of(redis_client: redis.Redis) -> None:
    with pytest.raises(WorkerUnknown, match="nobody-here"):
        WorkerRegistry(redis_client).drain("nobody-here")


def test_a_worker_that_fell_silent_is_shown_so_and_forgotten_later(redis_client: redis.Redis) -> None:
    worker_registry = WorkerRegistry(redis_client)
    worker_registry.report(a_report("gpu-0"))
    heard = "{rhapsode}:heard"

    redis_client.zadd(heard, {"gpu-0": (time.time() - 20) * 1000})
    assert worker_registry.list()[0].state is WorkerState.UNRESPONSIVE
    redis_client.zadd(heard, {"gpu-0": (time.time() - 70) * 1000})
    assert worker_registry.list() == ()
    worker_registry.report(a_report("gpu-1"))

    assert redis_client.hkeys("{rhapsode}:worker_registry") == ["gpu-1"]


def test_an_item_that_was_given_up_is_in_the_list_until_somebody_saw_to_it(redis_client: redis.Redis) -> None:
    Clock()
    store, dead = open_store(redis_client), DeadLetters(redis_client)
    job = start_job(store, 2)
    item = claim(store, GPU_QUEUE)

    store.fail(item.lease, JobError("segment_quality", "it never passed", 0))

    (entry,) = dead.list(None, 10)
    assert (entry.job, entry.tenant, entry.item, entry.code) == (job.id, ALICE, "0", "segment_quality")
    assert dead.list(entry.id, 10) == ()
    dead.forget(entry.id)
    assert dead.list(None, 10) == ()
    with pytest.raises(DeadLetterUnknown):
        dead.get(entry.id)


def test_the_last_audit_is_kept_for_all_to_see(redis_client: redis.Redis) -> None:
    log = AuditLog(redis_client)
    assert log.last() is None

    noted = log.note((CounterMismatch("leases:", 0, 3),))

    assert log.last() == noted
    assert QueueOverviews(redis_client).read().audited == noted


def test_a_job_remembers_the_trace_it_is_part_of(redis_client: redis.Redis) -> None:
    Clock()
    store = open_store(redis_client)
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    store.submit(replace(submission(), trace=trace))

    assert claim(store, CPU_QUEUE).trace == trace


def test_counters_that_differ_are_given_what_was_counted(redis_client: redis.Redis) -> None:
    Clock()
    store = open_store(redis_client)
    start_job(store, 3)
    redis_client.hincrby("{rhapsode}:counters", GPU_QUEUE, 5)
    redis_client.hincrby("{rhapsode}:total", "audio_ms", 7_000)
    redis_client.hset("{rhapsode}:counters", "cpu", 4)

    mended = {each.name for each in store.mend_counters()}

    assert mended == {f"ready:{GPU_QUEUE}", "audio_ms:total", "ready:cpu"}
    assert store.audit_counters() == ()
    assert store.ready_counts() == {GPU_QUEUE: 3}
