"""A worker claims what its engine has room for, and little more."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import pytest

from rhapsode.contract.jobs.narration import SegmentLengths
from storage.ids import JobId, TenantId
from storage.jobs.work_items import Lease
from storage.jobs.work_queues import CPU_QUEUE
from tests.threads import BoundedExecutor
from tests.worker.studio import GPU_QUEUE, SPEC, Studio
from worker.engine.fake import FakeEngine
from worker.engine.interface import EngineStats
from worker.engine.settings import FakeEngineSettings
from worker.items.gpu_ticket import GpuTickets
from worker.items.leases.claim_ahead import ClaimAhead
from worker.items.leases.keeper import DropReason
from worker.lifecycle.speech_lane import num_decoding

SLOTS = 16
LEASES = [Lease(JobId("job"), TenantId("tenant"), str(number), number) for number in range(17)]


@pytest.mark.parametrize(("slots", "most"), [(1, 1), (15, 15), (16, 17), (256, 272)])
def test_one_claim_ahead_for_sixteen_slots(slots: int, most: int) -> None:
    assert ClaimAhead(slots).most == most


def test_a_place_is_free_once_the_engine_has_answered_or_nothing_was_claimed() -> None:
    ahead = ClaimAhead(slots=1)
    for lease in LEASES[:3]:
        assert ahead.take(1, lambda: True, patience_s=0) == 1
        ahead.claimed(1, [lease])
        assert ahead.take(1, lambda: True, patience_s=0) == 0
        ahead.give_back(lease)
        ahead.give_back(lease)
    assert ahead.take(1, lambda: True, patience_s=0) == 1
    ahead.claimed(1, [])

    assert ahead.taken == 0


def test_what_has_left_the_slots_and_is_decoded_keeps_no_place() -> None:
    decoding = 0
    ahead = ClaimAhead(16, lambda: decoding)
    ahead.claimed(ahead.take(99, lambda: True, patience_s=0), LEASES)

    decoding = 5

    assert ahead.take(99, lambda: True, patience_s=0) == 5
    assert ahead.take(99, lambda: True, patience_s=0) == 0


def test_while_no_decoder_is_in_reach_no_more_is_claimed() -> None:
    class Decoding(FakeEngine):
        away = False

        def stats(self) -> EngineStats:
            return replace(super().stats(), decoding=3, lacks_decoder=self.away)

    engine = Decoding(FakeEngineSettings(slots=SLOTS))
    seen = num_decoding(engine)
    engine.away = True

    assert (seen, num_decoding(engine)) == (3, 0)
    engine.close()


def test_several_places_are_taken_together_as_far_as_there_are_any() -> None:
    ahead = ClaimAhead(slots=4)

    taken = [ahead.take(3, lambda: True, patience_s=0) for _ in range(3)]
    ahead.claimed(3, LEASES[:2])
    ahead.claimed(1, [])

    assert taken == [3, 1, 0]
    assert ahead.taken == 2


def test_who_waits_for_a_place_gets_the_next_and_goes_when_nothing_shall_be_claimed() -> None:
    ahead, open_for_claims = ClaimAhead(slots=1), threading.Event()
    open_for_claims.set()
    assert ahead.take(1, open_for_claims.is_set, patience_s=0) == 1
    ahead.claimed(1, LEASES[:1])
    with BoundedExecutor(2) as threads:
        waiting = [threads.submit(ahead.take, 1, open_for_claims.is_set, 60.0) for _ in range(2)]
        ahead.give_back(LEASES[0])
        while not any(each.done() for each in waiting):
            time.sleep(0.005)
        open_for_claims.clear()

    assert sorted(each.result() for each in waiting) == [0, 1]


def test_what_the_engine_has_no_room_for_stays_in_the_queue(studio: Studio) -> None:
    engine = FakeEngine(FakeEngineSettings(slots=SLOTS, step_s=0.5))
    services = replace(studio.services, engine=engine, ahead=ClaimAhead(SLOTS))
    spec = SPEC.asking(segmentation=SegmentLengths(target_chars=10, max_chars=40))
    job = studio.submit(" ".join(f"This is {number}." for number in range(1_000, 1_030)), spec)
    studio.run_one(CPU_QUEUE)
    total = studio.record(job).segments.total

    tickets = GpuTickets(services, 2 * SLOTS)
    with BoundedExecutor(1) as threads:
        threads.submit(tickets.answer)
        while studio.record(job).segments.running < services.ahead.most:
            time.sleep(0.005)
        # One more would be claimed within it; a segment takes the engine many times as long.
        time.sleep(0.3)
        ready, running = studio.jobs.ready_counts()[GPU_QUEUE], studio.record(job).segments.running
        services.worker.closing.set()
        services.worker.leases.drop_all(DropReason.SHUTDOWN)
    tickets.close()
    engine.close()

    assert (running, ready) == (SLOTS + 1, total - SLOTS - 1)
    assert services.ahead.taken == 0
