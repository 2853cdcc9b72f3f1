"""The decoder lane of a GPU: many utterances at a time, pass by pass, beside the talker."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from worker.engine.interface import CodecFrames, Pcm
from worker.engine.native.cuda.codec.history import ORIGIN_SLOT
from worker.engine.native.cuda.codec.passes import PASSES_UNDER_WAY, Passes, PassRow, PendingPass
from worker.engine.native.cuda.codec.plan import CodecPlan, choose_pass
from worker.engine.native.cuda.codec.warm_slots import WarmSlots, WarmState
from worker.engine.native.decoder_lane import DecoderClient, LaneCounters, Utterance

# One slot in so many is for the state behind a voice's reference.
_WARM_SHARE = 8


@dataclass(slots=True, eq=False)
class _Job:
    """Frames on their way, of an utterance, or of a reference whose state is wanted and whose samples are not.

    came_s: on the monotonic clock. num_dropped: frames at the beginning whose samples are not delivered. begins_behind:
    the state to go on from, if not from the origin. leaves: where the state behind the last frame goes, if anywhere.
    slot: of its own state, once a part is decoded and another is not.
    """

    utterance: Utterance | None
    frames: CodecFrames
    came_s: float
    num_dropped: int = 0
    begins_behind: WarmState | None = None
    leaves: WarmState | None = None
    num_launched: int = 0
    slot: int | None = None
    parts: list[Pcm] = field(default_factory=list)
    num_parts: int = 0

    @property
    def num_waiting(self) -> int:
        return len(self.frames) - self.num_launched

    @property
    def may_begin(self) -> bool:
        return self.begins_behind is None or self.begins_behind.is_launched


@dataclass(frozen=True, slots=True)
class _Launched:
    pending: PendingPass
    jobs: tuple[_Job, ...]


@dataclass(frozen=True, slots=True)
class Patience:
    """A pass begins when so many frames are waiting, or the first of them has waited for so long.

    Passes over few frames use the device badly, and the device is the talker's as well. Where fewer than
    `least_company` other requests are in flight, there is hardly anybody to wait for, and nobody waits.
    """

    frames: int
    seconds: float
    least_company: int


class BatchedDecoderLane:
    """`DecoderLane` on one thread that keeps up to two passes under way."""

    def __init__(self, passes: Passes, plan: CodecPlan, samples_per_frame: int, patience: Patience) -> None:
        self._passes = passes
        self._patience = patience
        self._plan = plan
        self._samples_per_frame = samples_per_frame
        self._changed = threading.Condition()
        self._arrivals: list[Utterance] = []
        self._closed = False
        self._thread: threading.Thread | None = None
        # Of the lane's thread alone. The front ones may hold slots; there are never more jobs ahead than slots.
        self._jobs: deque[_Job] = deque()
        num_warm = len(passes.stream_slots) // _WARM_SHARE
        self._warm = WarmSlots(passes.stream_slots[:num_warm])
        self._free_slots = list(passes.stream_slots[num_warm:])
        self._num_running = len(self._free_slots)
        self._under_way: deque[_Launched] = deque()

    @property
    def counters(self) -> LaneCounters:
        return LaneCounters(self._passes.counters.graph_hits, self._passes.counters.fallbacks)

    def start(self, client: DecoderClient) -> None:
        def decode() -> None:
            client.run_guarded(lambda: self._run(client))

        self._thread = threading.Thread(target=decode, name="codec-decoder", daemon=True)
        self._thread.start()

    def put(self, utterance: Utterance) -> None:
        with self._changed:
            self._arrivals.append(utterance)
            self._changed.notify()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify()

    def join(self) -> None:
        if self._thread is not None:
            self._thread.join()

    def _run(self, client: DecoderClient) -> None:
        while self._take_in(client):
            if self._patience_left_s(client) <= 0 and len(self._under_way) < PASSES_UNDER_WAY:
                self._launch()
            elif self._under_way:
                self._collect(client)

    def _take_in(self, client: DecoderClient) -> bool:
        """Waits while nothing is due. False once the lane is closed and empty."""
        with self._changed:
            while not (self._arrivals or self._under_way or (left_s := self._patience_left_s(client)) <= 0):
                if self._closed and not self._jobs:
                    return False
                self._changed.wait(None if left_s == math.inf else left_s)
            arrivals, self._arrivals = self._arrivals, []
        for utterance in arrivals:
            if not client.is_wanted(utterance):
                continue
            if len(utterance.frames):
                self._jobs.extend(self._jobs_of(utterance))
            else:
                client.deliver(utterance, np.zeros(0, dtype=np.float32))
        return True

    def _jobs_of(self, utterance: Utterance) -> list[_Job]:
        """The utterance's, and before it its reference's where that is new."""
        now_s, frames = time.monotonic(), utterance.frames
        if utterance.reference is None or not len(utterance.reference):
            return [_Job(utterance, frames, now_s)]
        reference = utterance.reference.astype(frames.dtype)
        warm, is_new = self._warm.enter(reference)
        if warm is None:
            return [_Job(utterance, np.concatenate((reference, frames)), now_s, num_dropped=len(reference))]
        job = _Job(utterance, frames, now_s, begins_behind=warm)
        return [_Job(None, reference, now_s, leaves=warm), job] if is_new else [job]

    def _patience_left_s(self, client: DecoderClient) -> float:
        """Until a pass is due; infinite while there is nothing to decode."""
        if not self._jobs:
            return math.inf
        if self._closed or sum(job.num_waiting for job in self._jobs) >= self._patience.frames:
            return 0.0
        num_others = client.num_in_flight - sum(job.utterance is not None for job in self._jobs)
        if num_others < self._patience.least_company:
            return 0.0
        return self._jobs[0].came_s + self._patience.seconds - time.monotonic()

    def _launch(self) -> None:
        candidates = [job for job in islice(self._jobs, self._num_running) if job.may_begin]
        choice = choose_pass(self._plan, [job.num_waiting for job in candidates])
        jobs = tuple(candidates[number] for number in choice.members)
        rows = [self._row(job, choice.shape.num_frames) for job in jobs]
        self._under_way.append(_Launched(self._passes.launch(choice.shape, rows), jobs))
        for job in jobs:
            if not job.num_waiting:
                self._jobs.remove(job)

    def _row(self, job: _Job, max_frames: int) -> PassRow:
        """The job's next frames; the job moves on by them. Passes run in order: what one leaves, the next may read."""
        frames = job.frames[job.num_launched : job.num_launched + max_frames]
        job.num_launched += len(frames)
        job.num_parts += 1
        read_slot = job.slot
        if read_slot is None:
            read_slot = self._first_slot(job)
        if job.num_waiting:
            job.slot = self._free_slots.pop() if job.slot is None else job.slot
            return PassRow(frames, read_slot, job.slot)
        if job.slot is not None:
            self._free_slots.append(job.slot)
        return PassRow(frames, read_slot, self._last_slot(job))

    @staticmethod
    def _first_slot(job: _Job) -> int:
        if job.begins_behind is None:
            return ORIGIN_SLOT
        job.begins_behind.users -= 1
        return job.begins_behind.slot

    def _last_slot(self, job: _Job) -> int:
        if job.leaves is None:
            return self._passes.scratch_slot
        job.leaves.is_launched = True
        return job.leaves.slot

    def _collect(self, client: DecoderClient) -> None:
        launched = self._under_way.popleft()
        for job, samples in zip(launched.jobs, launched.pending.samples(), strict=True):
            if job.utterance is None:
                continue
            job.parts.append(samples)
            if not job.num_waiting and len(job.parts) == job.num_parts:
                pcm = np.concatenate(job.parts)
                client.deliver(job.utterance, pcm[job.num_dropped * self._samples_per_frame :])
