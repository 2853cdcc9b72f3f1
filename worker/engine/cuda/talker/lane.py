"""The talker's lane over slots: frames are launched ahead, and what became of them is read some frames later.

A request that has ended goes on as a row that stands still until its end is noticed, which costs at most as many rows
as steps are in flight. The slot is given away only after that, and the device does things in the order of their
launch, so no step in flight can meet the slot's next owner.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from worker.engine.cuda.talker.capture_plan import CapturePlan
from worker.engine.cuda.talker.frame_executor import FrameExecutor, LaunchedFrame
from worker.engine.cuda.talker.prefill.pack import SlotAdmission
from worker.engine.cuda.talker.scheduler import SlotScheduler
from worker.engine.requests.request_state import RequestState, RowEnd
from worker.engine.serving.chunks import ChunkPlan
from worker.engine.serving.talker_lane import EndedSpeech, LaneStep, MoreText, SpeechPart, is_part_due


class Prefill(Protocol):
    """The pass over the prompts of those that are admitted together."""

    def launch(self, admissions: Sequence[SlotAdmission], num_tokens: int) -> None:
        """One pass of `num_tokens` tokens, at least the prompt rows of all. Returns before it is done."""
        ...

    def extend(self, slot: int, start: int, ids: Sequence[int], max_frames: int) -> None:
        """Text beside frame `start` of a slot and those behind it. Returns before it is done."""
        ...


@dataclass(frozen=True, slots=True)
class LaneShape:
    """num_positions: of each slot, and so the most frames of a request."""

    num_slots: int
    num_positions: int
    num_codebooks: int


@dataclass(frozen=True, slots=True)
class _InFlight:
    """slots, owners: (n,), the slots of the step and the number of the owner that each had at its launch."""

    slots: NDArray[np.int64]
    owners: NDArray[np.int64]
    launched: LaunchedFrame


class SlotTalkerLane:
    """`TalkerLane` over one device. Owns the frames of the running requests."""

    def __init__(
        self,
        prefill: Prefill,
        frames: FrameExecutor,
        scheduler: SlotScheduler,
        plan: CapturePlan,
        shape: LaneShape,
        max_in_flight: int,
        chunks: ChunkPlan,
    ) -> None:
        """max_in_flight: steps launched and not read back yet.

        chunks: what streamed requests hand on, counted in frames that were read back.
        """
        self._prefill = prefill
        self._frames = frames
        self._scheduler = scheduler
        self._plan = plan
        self._max_in_flight = max_in_flight
        self._chunks = chunks
        self._in_flight: deque[_InFlight] = deque()
        self._codes = np.zeros((shape.num_slots, shape.num_positions, shape.num_codebooks), dtype=np.int16)
        self._num_frames = np.zeros(shape.num_slots, dtype=np.int64)
        self._num_launched = np.zeros(shape.num_slots, dtype=np.int64)
        self._most_launches = np.zeros(shape.num_slots, dtype=np.int64)
        self._owner = np.zeros(shape.num_slots, dtype=np.int64)
        self._streamed: dict[int, RequestState] = {}
        self._open: dict[int, RequestState] = {}

    @property
    def has_work(self) -> bool:
        return bool(self._in_flight or self._scheduler.has_room or self._due().size)

    @property
    def num_standing(self) -> int:
        return sum(request.stands_still for request in self._open.values())

    def add(self, request: RequestState) -> None:
        self._scheduler.add(request)

    def extend(self, more: MoreText) -> None:
        request = more.request
        start = len(request.prompt.trailing_text_ids)
        request.extend_text(more.ids, more.max_frames, is_last=more.is_last)
        slot = self._scheduler.slot_of(request)
        if slot is not None:
            self._prefill.extend(slot, start, more.ids, more.max_frames)
            self._set_text(slot, request)

    def cancel(self, request: RequestState) -> None:
        slot = self._scheduler.cancel(request)
        if slot is not None:
            self._leave(slot)

    def step(self) -> LaneStep:
        admitted: list[RequestState] = []
        while len(self._in_flight) < self._max_in_flight:
            admitted += self._admit_waiting()
            if not self._launch():
                break
        if not self._in_flight:
            return LaneStep(admitted, (), (), 0)
        return self._read_back(self._in_flight.popleft(), admitted)

    def _admit_waiting(self) -> list[RequestState]:
        admissions = self._scheduler.admit()
        for group in self._plan.groups(admissions):
            self._prefill.launch(group.admissions, group.num_tokens)
        for admission in admissions:
            self._take_slot(admission.slot, admission.request)
        return [admission.request for admission in admissions]

    def _take_slot(self, slot: int, request: RequestState) -> None:
        self._num_frames[slot] = self._num_launched[slot] = request.num_prefix
        if request.prefix is not None:
            self._codes[slot, : request.num_prefix] = request.prefix
        self._set_text(slot, request)
        if request.is_streamed:
            self._streamed[slot] = request

    def _set_text(self, slot: int, request: RequestState) -> None:
        # The step after the last frame says whether the speech had ended by itself.
        self._most_launches[slot] = request.most_frames_now
        if request.is_open:
            self._open[slot] = request
        else:
            self._open.pop(slot, None)

    def _due(self) -> NDArray[np.int64]:
        """The slots whose next frame may be launched."""
        running = np.array(self._scheduler.running, dtype=np.int64)
        return running[self._num_launched[running] < self._most_launches[running]]

    def _launch(self) -> bool:
        """False: there was no row to make a frame for."""
        slots = self._due()
        if not slots.size:
            return False
        self._num_launched[slots] += 1
        self._in_flight.append(_InFlight(slots, self._owner[slots], self._frames.launch(slots.tolist())))
        return True

    def _read_back(self, step: _InFlight, admitted: Sequence[RequestState]) -> LaneStep:
        packet = step.launched.wait()
        statuses = packet[:, -1]
        owned = self._owner[step.slots] == step.owners
        runs = owned & (statuses == RowEnd.RUNNING)
        slots = step.slots[runs]
        self._codes[slots, self._num_frames[slots]] = packet[runs, :-1]
        self._num_frames[slots] += 1
        ended = tuple(
            self._end(int(step.slots[row]), RowEnd(int(statuses[row]))) for row in np.flatnonzero(owned & ~runs)
        )
        return LaneStep(admitted, self._parts(), ended, int(slots.size))

    def _parts(self) -> tuple[SpeechPart, ...]:
        for slot, request in (*self._streamed.items(), *self._open.items()):
            request.frames = int(self._num_frames[slot])
        return tuple(
            self._part(slot, request) for slot, request in self._streamed.items() if is_part_due(request, self._chunks)
        )

    def _part(self, slot: int, request: RequestState) -> SpeechPart:
        frames = self._codes[slot, request.handed_on : request.frames].copy()
        request.handed_on = request.frames
        return SpeechPart(request, frames)

    def _end(self, slot: int, end: RowEnd) -> EndedSpeech:
        request = self._scheduler.request_of(slot)
        request.frames = int(self._num_frames[slot])
        self._scheduler.release(slot)
        self._leave(slot)
        return EndedSpeech(request, end, self._codes[slot, request.num_prefix : request.frames].copy())

    def _leave(self, slot: int) -> None:
        """Steps in flight say nothing about the slot's next owner."""
        self._owner[slot] += 1
        self._streamed.pop(slot, None)
        self._open.pop(slot, None)
