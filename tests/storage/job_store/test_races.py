"""Many workers and a tenant at once; what each of them is told fits together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import wait

import pytest
import redis

from rhapsode.contract.jobs.states import JobState
from storage.errors import JobAborted, LeaseLost
from storage.ids import JobId, TenantId
from storage.job_store.store import JobStore
from storage.jobs.work_items import Lease, PlanResult, ReleaseReason, WorkerIdentity
from storage.jobs.work_queues import CPU_QUEUE
from tests.storage.job_store.event_log import EventLog
from tests.storage.job_store.job_driver import ALICE, BOB, GPU_QUEUE, LEASE_S, artifact, report, submission
from tests.threads import BoundedExecutor

NUM_WORKERS = 4
NUM_SEGMENTS = 60
ENDINGS = {"job.succeeded", "job.failed", "job.cancelled", "job.expired"}


def work_until_idle(
    store: JobStore, worker: WorkerIdentity, committed: Callable[[Lease], None] = lambda _: None
) -> int:
    """Works off both lanes, giving every seventh item back first; returns how many results were refused.

    committed: called after each segment.
    """
    refused = taken = idle = 0
    while idle < 20:
        item = store.claim(GPU_QUEUE, worker, LEASE_S).item or store.claim(CPU_QUEUE, worker, LEASE_S).item
        if item is None:
            idle += 1
            continue
        idle = 0
        taken += 1
        try:
            if taken % 7 == 0:
                store.release(item.lease, ReleaseReason.SHUTDOWN)
            elif item.lease.item == "plan":
                store.commit_plan(item.lease, PlanResult("plan", NUM_SEGMENTS, 600_000))
            elif item.lease.item == "assemble":
                store.finish(item.lease, [artifact()])
            else:
                store.commit_segment(item.lease, report(item.lease.item))
                committed(item.lease)
        except (JobAborted, LeaseLost):
            refused += 1
    return refused


@pytest.fixture
def pool() -> Iterator[BoundedExecutor]:
    with BoundedExecutor(NUM_WORKERS) as executor:
        yield executor


def test_cancel_and_pause_amid_the_work_of_others(
    redis_client: redis.Redis, store: JobStore, pool: BoundedExecutor
) -> None:
    def new_job(tenant: TenantId) -> JobId:
        return store.submit(submission(tenant, 600_000)).job.id

    cancelled, paused, left_alone = new_job(ALICE), new_job(ALICE), new_job(BOB)

    # By a worker: on a busy machine the workers are done before a thread beside them has looked.
    def cancel_at_ten(lease: Lease) -> None:
        if lease.job == cancelled and store.get(ALICE, cancelled).segments.done >= 10:
            store.cancel(ALICE, cancelled)

    workers = [WorkerIdentity(f"w{i}", "1") for i in range(NUM_WORKERS)]
    running = [pool.submit(work_until_idle, store, worker, cancel_at_ten) for worker in workers]
    for _ in range(10):
        store.pause(ALICE, paused)
        store.resume(ALICE, paused)
    wait(running)
    for future in running:
        future.result()
    work_until_idle(store, WorkerIdentity("w0", "1"))

    assert store.get(ALICE, cancelled).state is JobState.CANCELLED
    assert 10 <= store.get(ALICE, cancelled).segments.done < NUM_SEGMENTS
    for tenant, job_id in ((ALICE, paused), (BOB, left_alone)):
        assert store.get(tenant, job_id).state is JobState.SUCCEEDED
        assert [r.index for r in store.segment_results(tenant, job_id)] == list(range(NUM_SEGMENTS))
    for job_id in (cancelled, paused, left_alone):
        endings = [event for event in EventLog(redis_client).read(job_id) if event.type in ENDINGS]
        assert len(endings) == 1
    assert store.audit_counters() == ()


def test_of_many_cancels_at_once_one_ends_the_job(
    redis_client: redis.Redis, store: JobStore, pool: BoundedExecutor
) -> None:
    for _ in range(20):
        job = store.submit(submission()).job
        calls = [pool.submit(store.cancel, ALICE, job.id) for _ in range(NUM_WORKERS)]

        states = {call.result().job.state for call in calls}

        assert states == {JobState.CANCELLED}
        assert [event.type for event in EventLog(redis_client).read(job.id)] == ["job.created", "job.cancelled"]
    assert store.audit_counters() == ()
