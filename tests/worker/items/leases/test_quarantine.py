"""A suspect is alone in its worker, does not wait for ever, and answers only for what happens while it runs."""

from __future__ import annotations

import threading
import time

import pytest

from storage.job_store.store import JobStore
from storage.jobs.work_items import QUARANTINE_SUSPICIONS, ClaimedItem, ReleaseReason, WorkerIdentity
from storage.jobs.work_queues import CPU_QUEUE
from tests.threads import BoundedExecutor
from tests.worker.studio import Studio
from worker.items.leases.keeper import DropReason, HeldLease, WorkDropped
from worker.items.leases.quarantine import QuarantineGate

WORKER = WorkerIdentity("w", "1")


def claim(jobs: JobStore) -> ClaimedItem:
    item = jobs.claim(CPU_QUEUE, WORKER, 30).item
    assert item is not None
    return item


def claimed_after(jobs: JobStore, suspicions: int) -> ClaimedItem:
    """The next item, held by `WORKER` after so many deaths of an engine in its presence."""
    for _ in range(suspicions):
        jobs.release(claim(jobs).lease, ReleaseReason.ENGINE_DIED)
    item = claim(jobs)
    assert item.suspicions == suspicions
    return item


def until_suspect_waits(gate: QuarantineGate) -> None:
    with gate._changed:  # pyright: ignore[reportPrivateUsage]
        # A suspect does not tell that it has come; it lets go of the lock only to wait.
        while not gate._suspects_waiting:  # pyright: ignore[reportPrivateUsage]
            gate._changed.wait(0.005)  # pyright: ignore[reportPrivateUsage]


def test_the_innocent_run_together() -> None:
    gate = QuarantineGate()
    meeting = threading.Barrier(4, timeout=30)

    def innocent() -> None:
        with gate.together():
            meeting.wait()

    with BoundedExecutor(4) as pool:
        for done in [pool.submit(innocent) for _ in range(4)]:
            done.result(30)


def test_a_suspect_is_never_inside_with_anybody() -> None:
    gate = QuarantineGate()
    lock = threading.Lock()
    inside: list[str] = []
    seen: list[list[str]] = []

    def visit(name: str) -> None:
        with gate.alone() if name == "suspect" else gate.together():
            with lock:
                inside.append(name)
                seen.append(list(inside))
            time.sleep(0.002)
            with lock:
                inside.remove(name)

    with BoundedExecutor(8) as pool:
        for done in [pool.submit(visit, "suspect" if i % 10 == 0 else "innocent") for i in range(200)]:
            done.result(30)

    assert all(company == ["suspect"] for company in seen if "suspect" in company)
    assert max(len(company) for company in seen) > 1


def test_newcomers_wait_behind_a_waiting_suspect() -> None:
    gate = QuarantineGate()
    order: list[str] = []
    first_inside, may_leave = threading.Event(), threading.Event()

    def first() -> None:
        with gate.together():
            first_inside.set()
            may_leave.wait(30)

    def suspect() -> None:
        with gate.alone():
            order.append("suspect")

    def newcomer() -> None:
        with gate.together():
            order.append("newcomer")

    with BoundedExecutor(3) as pool:
        pool.submit(first)
        first_inside.wait(30)
        done = [pool.submit(suspect)]
        until_suspect_waits(gate)
        done.append(pool.submit(newcomer))
        time.sleep(0.05)
        may_leave.set()
        for each in done:
            each.result(30)

    assert order == ["suspect", "newcomer"]


def test_a_failure_inside_opens_the_gate() -> None:
    gate = QuarantineGate()
    for entry in (gate.alone, gate.together, gate.alone):
        try:
            with entry():
                raise KeyError
        except KeyError:
            continue


def test_an_item_is_alone_from_its_third_suspicion(studio: Studio) -> None:
    gate, jobs = QuarantineGate(), studio.jobs
    studio.submit()
    innocent = claimed_after(jobs, suspicions=QUARANTINE_SUSPICIONS - 1)
    studio.submit()
    suspect = claimed_after(jobs, suspicions=QUARANTINE_SUSPICIONS)
    suspect_inside, suspect_may_leave = threading.Event(), threading.Event()

    def run_suspect() -> None:
        with gate.admitted(suspect, HeldLease(suspect.lease, 10), jobs):
            suspect_inside.set()
            suspect_may_leave.wait(30)

    with BoundedExecutor(1) as pool:
        with gate.admitted(innocent, HeldLease(innocent.lease, 10), jobs):
            with gate.together():
                pass
            done = pool.submit(run_suspect)
            assert not suspect_inside.wait(0.05)
        assert suspect_inside.wait(30)
        suspect_may_leave.set()
        done.result(30)


def test_a_suspect_that_only_waited_is_not_charged_for_the_death_of_its_worker(studio: Studio) -> None:
    """It stands at the gate, the innocent item inside kills the process, and a new boot_id takes both back."""
    gate, jobs = QuarantineGate(), studio.jobs
    studio.submit()
    suspect = claimed_after(jobs, suspicions=QUARANTINE_SUSPICIONS)
    held = HeldLease(suspect.lease, 10)

    def stand_at_the_gate() -> None:
        with gate.admitted(suspect, held, jobs):
            raise AssertionError("it was let in")

    with BoundedExecutor(1) as pool:
        with gate.together():
            waiting = pool.submit(stand_at_the_gate)
            until_suspect_waits(gate)
            jobs.release_worker(WorkerIdentity(WORKER.name, "2"))
            held.drop(DropReason.LOST)
        with pytest.raises(WorkDropped):
            waiting.result(30)

    again = claim(jobs)
    assert (again.lease.item, again.attempt, again.suspicions) == (suspect.lease.item, 1, QUARANTINE_SUSPICIONS)


def test_a_suspect_that_ran_alone_is_charged_for_the_death_of_its_worker(studio: Studio) -> None:
    gate, jobs = QuarantineGate(), studio.jobs
    studio.submit()
    suspect = claimed_after(jobs, suspicions=QUARANTINE_SUSPICIONS)

    with gate.admitted(suspect, HeldLease(suspect.lease, 10), jobs):
        jobs.release_worker(WorkerIdentity(WORKER.name, "2"))

    again = claim(jobs)
    assert (again.lease.item, again.attempt, again.suspicions) == (suspect.lease.item, 2, QUARANTINE_SUSPICIONS + 1)
