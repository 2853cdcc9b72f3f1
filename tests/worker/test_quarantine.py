"""A suspect is alone in the engine, and does not wait for ever."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

from storage.jobs import QUARANTINE_SUSPICIONS, ClaimedItem, JobId, Lease, NarrationSpec, TenantId
from worker.quarantine import QuarantineGate


def item_with(suspicions: int) -> ClaimedItem:
    lease = Lease(JobId("job_1"), TenantId("local"), "assemble", 1)
    return ClaimedItem(lease, 1, suspicions, NarrationSpec("m", "v"), "input", None, None)


def test_the_innocent_run_together() -> None:
    gate = QuarantineGate()
    meeting = threading.Barrier(4, timeout=5)

    def innocent() -> None:
        with gate.together():
            meeting.wait()

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(innocent) for _ in range(4)]:
            done.result(10)


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

    with ThreadPoolExecutor(8) as pool:
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
            may_leave.wait(5)

    def suspect() -> None:
        with gate.alone():
            order.append("suspect")

    def newcomer() -> None:
        with gate.together():
            order.append("newcomer")

    with ThreadPoolExecutor(3) as pool:
        pool.submit(first)
        first_inside.wait(5)
        done = [pool.submit(suspect)]
        time.sleep(0.05)
        done.append(pool.submit(newcomer))
        time.sleep(0.05)
        may_leave.set()
        for each in done:
            each.result(5)

    assert order == ["suspect", "newcomer"]


def test_a_failure_inside_opens_the_gate() -> None:
    gate = QuarantineGate()
    for entry in (gate.alone, gate.together, gate.alone):
        try:
            with entry():
                raise KeyError
        except KeyError:
            continue


def test_an_item_is_alone_from_its_third_suspicion() -> None:
    gate = QuarantineGate()

    with ThreadPoolExecutor(1) as pool:
        with gate.admit(item_with(QUARANTINE_SUSPICIONS - 1)):
            with gate.together():
                pass
            suspect = pool.submit(lambda: gate.admit(item_with(QUARANTINE_SUSPICIONS)).__enter__())
            time.sleep(0.05)
            assert not suspect.done()
        suspect.result(5)
