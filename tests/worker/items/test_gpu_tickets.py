"""A ticket wakes a worker that speaks, and it looks for items by itself until there are none."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from unittest.mock import Mock

import pytest

from rhapsode.contract.jobs.narration import SegmentLengths
from rhapsode.contract.jobs.states import JobState
from storage.errors import StoreUnavailable
from storage.job_store.leases import Claims, Look
from storage.jobs.tickets import Tickets
from storage.jobs.work_items import QUARANTINE_SUSPICIONS, ClaimedItem, ReleaseReason, WorkerIdentity
from storage.jobs.work_queues import CPU_QUEUE
from tests.threads import BoundedExecutor
from tests.worker.studio import GPU_QUEUE, SPEC, Studio
from worker.engine.fake import FakeEngine
from worker.engine.settings import FakeEngineSettings
from worker.items import gpu_ticket
from worker.items.dispatch import Run
from worker.items.gpu_ticket import GpuTickets
from worker.items.leases.keeper import DropReason
from worker.services import SpeechServices, WorkerServices

PLACES = 6
MANY = SPEC.asking(segmentation=SegmentLengths(target_chars=10, max_chars=40))


def many_sentences(number: int) -> str:
    return " ".join(f"This is {each}." for each in range(100, 100 + number))


@pytest.fixture
def gpu_tickets(studio: Studio) -> Iterator[GpuTickets]:
    tickets = GpuTickets(studio.services, PLACES)
    yield tickets
    studio.services.worker.closing.set()
    tickets.close()


def test_an_idle_queue_ends_the_ticket(studio: Studio, gpu_tickets: GpuTickets) -> None:
    gpu_tickets.answer()

    assert (studio.services.worker.leases.num_held, studio.services.ahead.taken) == (0, 0)


def test_one_ticket_is_enough_for_all_that_is_ready(studio: Studio, gpu_tickets: GpuTickets) -> None:
    studio.jobs.look_away(GPU_QUEUE, studio.services.worker.identity)
    jobs = [studio.submit_planned(f"This is number {each}.") for each in range(40)]

    gpu_tickets.answer()
    gpu_tickets.close()

    assert {studio.record(job).state for job in jobs} == {JobState.SUCCEEDED}


def test_a_long_job_is_spoken_with_as_few_tickets_as_looks_found_nothing(
    studio: Studio, gpu_tickets: GpuTickets
) -> None:
    studio.jobs.look_away(GPU_QUEUE, studio.services.worker.identity)
    job = studio.submit(many_sentences(120), MANY)
    studio.run_one(CPU_QUEUE)
    give_up_s = time.monotonic() + 60

    while studio.record(job).segments.done < 120 and time.monotonic() < give_up_s:
        gpu_tickets.answer()

    assert studio.record(job).segments.done == 120
    assert studio.services.worker.tickets.waiting(GPU_QUEUE) < 10


@pytest.fixture
def slow_services(studio: Studio) -> Iterator[SpeechServices]:
    """Nothing ends by itself."""
    engine = FakeEngine(FakeEngineSettings(slots=4, step_s=30.0))
    yield replace(studio.services, engine=engine)
    engine.close()


def test_a_worker_takes_what_it_has_room_for_and_leaves_the_rest_to_others(
    studio: Studio, slow_services: SpeechServices
) -> None:
    tickets = GpuTickets(slow_services, PLACES)
    studio.jobs.look_away(GPU_QUEUE, slow_services.worker.identity)
    jobs = [studio.submit_planned(f"This is number {each}.") for each in range(10)]
    before = studio.services.worker.tickets.waiting(GPU_QUEUE)

    with BoundedExecutor(1) as threads:
        threads.submit(tickets.answer)
        while studio.jobs.ready_counts()[GPU_QUEUE] > 6:
            time.sleep(0.005)
        time.sleep(0.2)
        states = [studio.record(job).state for job in jobs]
        woken = studio.services.worker.tickets.waiting(GPU_QUEUE) - before
        slow_services.worker.closing.set()
    left = studio.services.worker.tickets.waiting(GPU_QUEUE) - before - woken
    slow_services.worker.leases.drop_all(DropReason.SHUTDOWN)
    tickets.close()

    assert states == [JobState.RUNNING] * 4 + [JobState.PENDING] * 6
    # One for another worker; and one that the worker leaves behind when it goes.
    assert (woken, left) == (1, 1)
    assert studio.jobs.ready_counts()[GPU_QUEUE] == 10
    assert slow_services.ahead.taken == 0


def test_a_suspect_goes_with_its_lease_to_who_may_run_it_alone(studio: Studio) -> None:
    worker = studio.services.worker
    jobs = [studio.submit_planned("This is number one.")]
    look = Look(GPU_QUEUE, room=1, is_woken=False, is_last=False)
    for _ in range(QUARANTINE_SUSPICIONS):
        (item,) = studio.jobs.claim_several(look, worker.identity, 30).items
        studio.jobs.release(item.lease, ReleaseReason.ENGINE_DIED)
    jobs += [studio.submit_planned(f"This is number {each}.") for each in ("two", "three")]
    suspects: list[ClaimedItem] = []
    front, of_all = GpuTickets(studio.services, PLACES, suspects.append), GpuTickets(studio.services, PLACES)

    front.answer()
    front.close()
    states = [studio.record(job).state for job in jobs]
    of_all.take(suspects[0])
    of_all.close()

    assert states == [JobState.RUNNING, JobState.SUCCEEDED, JobState.SUCCEEDED]
    assert [each.lease.job for each in suspects] == [jobs[0].id]
    assert studio.record(jobs[0]).state is JobState.SUCCEEDED
    assert studio.services.ahead.taken == 0


def test_what_a_look_claims_while_the_worker_leaves_is_finished(
    studio: Studio, gpu_tickets: GpuTickets, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = studio.submit_planned("This is number one.")
    is_looking, claim = threading.Event(), studio.jobs.claim_several

    def claim_slowly(look: Look, worker: WorkerIdentity, lease_s: float) -> Claims:
        claims = claim(look, worker, lease_s)
        is_looking.set()
        time.sleep(0.3)
        return claims

    monkeypatch.setattr(studio.jobs, "claim_several", claim_slowly)
    with BoundedExecutor(1) as threads:
        ticket = threads.submit(gpu_tickets.answer)
        assert is_looking.wait(30)
        studio.services.worker.closing.set()
        gpu_tickets.close()
        ticket.result(30)

    assert studio.record(job).state is JobState.SUCCEEDED


def test_an_item_that_ends_in_no_known_way_costs_its_neighbours_nothing(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    studio.jobs.look_away(GPU_QUEUE, studio.services.worker.identity)
    jobs = [studio.submit_planned(f"This is number {each}.") for each in range(8)]
    run, bad = gpu_ticket.run_item, jobs[2].id

    def run_or_raise(item: ClaimedItem, services: WorkerServices, call: Run) -> Tickets:
        if item.lease.job == bad:
            raise RuntimeError("a bug, for once")
        return run(item, services, call)

    monkeypatch.setattr(gpu_ticket, "run_item", run_or_raise)
    tickets = GpuTickets(studio.services, PLACES)

    tickets.answer()
    tickets.close()

    assert [studio.record(job).state for job in jobs].count(JobState.SUCCEEDED) == 7
    assert studio.record(jobs[2]).state is JobState.RUNNING
    assert studio.services.ahead.taken == 0


def test_nothing_is_claimed_twice_when_redis_is_away_for_a_moment(
    studio: Studio, gpu_tickets: GpuTickets, monkeypatch: pytest.MonkeyPatch
) -> None:
    studio.submit_planned("This is number one.")
    monkeypatch.setattr(studio.jobs, "claim_several", Mock(side_effect=StoreUnavailable("for a moment")))

    gpu_tickets.answer()

    assert studio.services.ahead.taken == 0
    assert studio.jobs.ready_counts()[GPU_QUEUE] == 1
