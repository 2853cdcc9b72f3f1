"""Leases are kept alive, and who holds one hears when it is over."""

from __future__ import annotations

import time

import pytest

from storage.ids import new_job_id
from storage.jobs.work_items import Lease, WorkerIdentity
from storage.jobs.work_queues import CPU_QUEUE
from tests.worker.studio import TENANT, Studio
from worker.items.leases.keeper import DropReason, HeldLease, LeaseKeeper, WorkDropped

WORKER = WorkerIdentity("w", "1")


def claimed(studio: Studio, lease_s: float = 5.0) -> Lease:
    studio.submit()
    item = studio.jobs.claim(CPU_QUEUE, WORKER, lease_s).item
    assert item is not None
    return item.lease


def test_a_held_lease_does_not_expire(studio: Studio) -> None:
    keeper = LeaseKeeper(studio.jobs, lease_s=3.0)
    keeper.start()
    lease = claimed(studio, 3.0)

    with keeper.hold(lease) as held:
        time.sleep(4)
        expired = studio.jobs.reap(10).leases_expired
        dropped = held.dropped
    keeper.close()

    assert (expired, dropped) == (0, None)


def test_a_lost_lease_is_noticed(studio: Studio) -> None:
    keeper = LeaseKeeper(studio.jobs, lease_s=5)
    lease = claimed(studio)
    studio.jobs.release_worker(WorkerIdentity("w", "2"))

    with keeper.hold(lease) as held:
        keeper.extend_now()

        with pytest.raises(WorkDropped) as dropped:
            held.check()

    assert dropped.value.reason is DropReason.LOST


def test_a_cancelled_job_is_noticed(studio: Studio) -> None:
    keeper = LeaseKeeper(studio.jobs, lease_s=5)
    lease = claimed(studio)
    studio.jobs.cancel(TENANT, lease.job)

    with keeper.hold(lease) as held:
        keeper.extend_now()

    assert held.dropped is DropReason.ABORTED


def test_the_first_reason_counts_and_the_callback_comes_once() -> None:
    held = HeldLease(Lease(new_job_id(), TENANT, "0", 1), 5)
    calls: list[str] = []
    held.on_drop(lambda: calls.append("dropped"))

    held.drop(DropReason.SHUTDOWN)
    held.drop(DropReason.LOST)

    assert calls == ["dropped"]
    assert held.dropped is DropReason.SHUTDOWN


def test_a_callback_that_comes_late_is_called_at_once() -> None:
    held = HeldLease(Lease(new_job_id(), TENANT, "0", 1), 5)
    held.drop(DropReason.ABORTED)
    calls: list[str] = []

    held.on_drop(lambda: calls.append("dropped"))

    assert calls == ["dropped"]


def test_only_what_is_held_is_dropped(studio: Studio) -> None:
    keeper = LeaseKeeper(studio.jobs, lease_s=5)
    with keeper.hold(Lease(new_job_id(), TENANT, "0", 1)) as over:
        pass

    with keeper.hold(Lease(new_job_id(), TENANT, "0", 2)) as held:
        keeper.drop_all(DropReason.SHUTDOWN)

    assert (over.dropped, held.dropped, keeper.num_held) == (None, DropReason.SHUTDOWN, 0)
