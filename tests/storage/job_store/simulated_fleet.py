"""Workers that speak in the scripts' own time: real scripts, a clock that jumps from event to event."""

from __future__ import annotations

import heapq
import random
from dataclasses import dataclass, field, replace

from storage.job_store.store import JobStore
from storage.jobs.record import ArtifactRecord
from storage.jobs.submissions import Submission
from storage.jobs.work_items import ASSEMBLE_ITEM, ClaimedItem, PlanResult
from storage.jobs.work_queues import CPU_QUEUE
from tests.storage.job_store.job_driver import GPU_QUEUE, WORKER, Clock, report

LEASE_S = 3_600.0
RATE_HZ = 24_000
SEGMENT_MS = 10_000


@dataclass
class SimulatedFleet:
    """slots: segments that are spoken at the same time. pace: seconds of audio that one slot speaks in a second.

    What is spoken turns out up to a fifth longer or shorter than was expected.
    """

    store: JobStore
    clock: Clock
    slots: int
    pace: float
    dice: random.Random
    _running: list[tuple[int, int, ClaimedItem, float]] = field(default_factory=list)

    def step(self) -> float:
        """Until the next segment is done; returns the seconds that took."""
        self._fill()
        if not self._running:
            raise AssertionError("there is nothing to speak, so nothing will ever end")
        due_ms, _, item, audio_s = heapq.heappop(self._running)
        passed_s = max(0, due_ms - self.clock.now_ms) / 1000
        self.clock.advance(passed_s)
        spoken = report(
            item.lease.item, num_samples=round(audio_s * RATE_HZ), engine_ms=round(1000 * audio_s / self.pace)
        )
        self.store.commit_segment(item.lease, spoken)
        self._fill()
        return passed_s

    def run(self, seconds: float) -> None:
        left_s = seconds
        while True:
            self._fill()
            due_s = (self._running[0][0] - self.clock.now_ms) / 1000 if self._running else left_s
            if due_s >= left_s:
                self.clock.advance(max(0.0, left_s))
                return
            left_s -= self.step()

    def _fill(self) -> None:
        """Plans and assemblies take no time here; free slots take segments."""
        while (item := self.store.claim(CPU_QUEUE, WORKER, LEASE_S).item) is not None:
            self._finish_cpu_item(item)
        while len(self._running) < self.slots:
            item = self.store.claim(GPU_QUEUE, WORKER, LEASE_S).item
            if item is None:
                return
            audio_s = SEGMENT_MS / 1000 * self.dice.uniform(0.8, 1.2)
            due_ms = self.clock.now_ms + round(1000 * audio_s / self.pace)
            heapq.heappush(self._running, (due_ms, item.lease.fence, item, audio_s))

    def _finish_cpu_item(self, item: ClaimedItem) -> None:
        lease = item.lease
        if lease.item == ASSEMBLE_ITEM:
            self.store.finish(
                lease, [ArtifactRecord("narration.wav", "wav", f"{lease.job}/{lease.fence}", 1, "0" * 64)]
            )
            return
        estimate_ms = self.store.get(lease.tenant, lease.job).estimated_audio_ms
        self.store.commit_plan(lease, PlanResult("plan", max(1, estimate_ms // SEGMENT_MS), estimate_ms))


def book(wanted: Submission, segments: int) -> Submission:
    return replace(wanted, estimated_audio_ms=segments * SEGMENT_MS)
