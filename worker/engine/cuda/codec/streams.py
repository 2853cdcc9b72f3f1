"""What a codec lane has to decode: whose frames may be in the next pass, and where each one's state is. No tensors.

Three kinds of job: a whole utterance; a stream, whose frames come as they are made, and which keeps its state between
them; and the reference of a voice, whose samples nobody wants but whose state others go on from.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from worker.engine.cuda.codec.pass_runner import PassRow
from worker.engine.cuda.codec.stream_state import ORIGIN_SLOT
from worker.engine.cuda.codec.warm_slots import WarmSlots, WarmState
from worker.engine.interface import CodecFrames, Pcm, Urgency
from worker.engine.requests.prompt import PlacedFrames
from worker.engine.requests.request_state import RequestState
from worker.engine.serving.codec_lane import Utterance
from worker.engine.serving.priority_queue import ClassWeights

# One slot in so many is for the state behind a voice's reference.
_WARM_SHARE = 8
# Of the others, the share that streams may hold between their parts; the rest is for utterances, whatever streams do.
_STREAM_SHARE = 0.75


@dataclass(slots=True, eq=False)
class DecodeRequest:
    """request: None of a reference. arrived_s: of the first frame that waits, on the monotonic clock. num_dropped:
    frames at the beginning whose samples are not delivered. start_state: the state to go on from, if not from the
    origin.
    saved_state: where the state behind the last frame goes, if anywhere. utterance: known once it has ended. slot: of
    its own state, once a part is decoded and another is not.
    """

    request: RequestState | None
    frames: CodecFrames
    arrived_s: float
    is_ended: bool
    is_awaited: bool
    num_dropped: int = 0
    start_state: WarmState | None = None
    saved_state: WarmState | None = None
    utterance: Utterance | None = None
    num_launched: int = 0
    slot: int | None = None
    parts: list[Pcm] = field(default_factory=list)
    num_parts: int = 0
    is_dropped: bool = False

    @property
    def num_waiting(self) -> int:
        return len(self.frames) - self.num_launched

    @property
    def is_unheard(self) -> bool:
        """Of a stream that has made no sound yet; or what such a stream may go on from."""
        if self.request is None:
            return self.is_awaited
        return self.request.is_streamed and self.num_launched <= self.num_dropped

    @property
    def may_begin(self) -> bool:
        return self.start_state is None or self.start_state.is_launched

    @property
    def is_complete(self) -> bool:
        return self.is_ended and not self.num_waiting and len(self.parts) == self.num_parts


@dataclass(frozen=True, slots=True)
class ReadyJobs:
    """Who may be in the next pass, the one that has waited longest first: those somebody waits for, and the others."""

    awaited: Sequence[DecodeRequest]
    others: Sequence[DecodeRequest]

    @property
    def num_frames(self) -> int:
        return sum(job.num_waiting for job in (*self.awaited, *self.others))


class DecodeRequests:
    """Belongs to the lane's thread."""

    def __init__(self, slots: Sequence[int], scratch_slot: int) -> None:
        """slots: for states; scratch_slot: where a state goes that nobody needs."""
        num_warm = len(slots) // _WARM_SHARE
        self._warm = WarmSlots(slots[:num_warm])
        self._free_slots = list(slots[num_warm:])
        self._most_stream_slots = max(1, int(len(self._free_slots) * _STREAM_SHARE))
        self._scratch_slot = scratch_slot
        self._turns = ClassWeights()
        # Jobs with frames that wait.
        self._jobs: deque[DecodeRequest] = deque()
        self._streams: dict[RequestState, DecodeRequest] = {}

    @property
    def has_streams(self) -> bool:
        return bool(self._streams)

    @property
    def num_utterances(self) -> int:
        """Whose frames wait."""
        return sum(job.request is not None for job in self._jobs)

    def add_part(self, request: RequestState, frames: CodecFrames) -> None:
        """The next frames of a stream."""
        job = self._streams.get(request)
        if job is None:
            self._streams[request] = self._enter(request, frames, is_ended=False)
        else:
            self._append(job, frames)

    def add(self, utterance: Utterance) -> DecodeRequest:
        """All frames of an utterance; of a stream the last ones are new. The job, which may be complete."""
        job = self._streams.pop(utterance.request, None)
        if job is None:
            job = self._enter(utterance.request, utterance.frames, is_ended=True)
        else:
            self._append(job, utterance.frames[len(job.frames) - job.num_dropped :])
        job.utterance = utterance
        job.is_ended = True
        if not job.num_waiting:
            self._release(job)
        return job

    def drop(self, request: RequestState) -> None:
        """A stream that does not go on. Others are ignored."""
        job = self._streams.pop(request, None)
        if job is None:
            return
        job.is_dropped = True
        if job.num_waiting:
            self._jobs.remove(job)
        if job.start_state is not None and not job.num_launched:
            job.start_state.users -= 1
        self._release(job)

    def ready(self) -> ReadyJobs:
        """Each job without a slot may come to need one: there are never more of them in a pass than free slots."""
        awaited: list[DecodeRequest] = []
        others: list[DecodeRequest] = []
        num_free = len(self._free_slots)
        num_free_for_streams = self._most_stream_slots - sum(job.slot is not None for job in self._streams.values())
        for job in self._jobs:
            if not job.may_begin:
                continue
            if job.slot is None:
                if not num_free or not (job.is_ended or num_free_for_streams > 0):
                    continue
                num_free -= 1
                num_free_for_streams -= not job.is_ended
            (awaited if job.is_awaited else others).append(job)
        return ReadyJobs(awaited, others)

    def next_company(self, ready: ReadyJobs) -> Sequence[DecodeRequest]:
        """Among whom the next pass chooses. Somebody is ready.

        A pass for those somebody waits for is kept small; the others have their turns. Of streams, those that have
        not been heard yet have a pass to themselves: each of the others has as much to play as it waits for.
        """
        urgency = self._turns.next(interactive_waits=bool(ready.awaited), bulk_waits=bool(ready.others))
        self._turns.taken(urgency, bulk_waits=bool(ready.others))
        if urgency is Urgency.BULK:
            return (*ready.others, *ready.awaited)
        return [job for job in ready.awaited if job.is_unheard] or ready.awaited

    def take_row(self, job: DecodeRequest, max_frames: int) -> PassRow:
        """The job's next frames; the job moves on by them. Passes run in order: what one saved_state, the next may
        read.
        """
        frames = job.frames[job.num_launched : job.num_launched + max_frames]
        read_slot = self._first_slot(job) if job.slot is None else job.slot
        job.num_launched += len(frames)
        job.num_parts += 1
        if not job.num_waiting:
            self._jobs.remove(job)
        if job.num_waiting or not job.is_ended:
            job.slot = self._free_slots.pop() if job.slot is None else job.slot
            return PassRow(frames, read_slot, job.slot)
        self._release(job)
        return PassRow(frames, read_slot, self._last_slot(job))

    def _enter(self, request: RequestState, frames: CodecFrames, *, is_ended: bool) -> DecodeRequest:
        """A new job, and before it its reference's where that is new."""
        job = DecodeRequest(request, frames[:0], time.monotonic(), is_ended, request.is_awaited)
        placed = request.prompt.reference
        if placed is not None and len(placed.codes):
            self._begin_behind(placed, job)
        self._append(job, frames)
        return job

    def _begin_behind(self, placed: PlacedFrames, job: DecodeRequest) -> None:
        reference = placed.codes.astype(job.frames.dtype)
        warm, is_new = self._warm.enter(reference)
        if warm is None:
            # No room to keep its state: this one job hears it anew.
            job.num_dropped = len(reference)
            self._append(job, reference)
            return
        job.start_state = warm
        if is_new:
            self._jobs.append(
                DecodeRequest(
                    None, reference, job.arrived_s, is_ended=True, is_awaited=job.is_awaited, saved_state=warm
                )
            )

    def _append(self, job: DecodeRequest, frames: CodecFrames) -> None:
        if not len(frames):
            return
        if not job.num_waiting:
            job.arrived_s = time.monotonic()
            self._jobs.append(job)
        job.frames = np.concatenate((job.frames, frames))

    def _release(self, job: DecodeRequest) -> None:
        if job.slot is not None:
            self._free_slots.append(job.slot)
            job.slot = None

    @staticmethod
    def _first_slot(job: DecodeRequest) -> int:
        if job.start_state is None:
            return ORIGIN_SLOT
        job.start_state.users -= 1
        return job.start_state.slot

    def _last_slot(self, job: DecodeRequest) -> int:
        if job.saved_state is None:
            return self._scratch_slot
        job.saved_state.is_launched = True
        return job.saved_state.slot
