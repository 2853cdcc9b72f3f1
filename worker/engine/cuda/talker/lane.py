"""The talker's lane over slots: frames are launched ahead, and what became of them is read some frames later.

A request that has ended goes on as a row that stands still until its end is noticed, which costs at most as many rows
as steps are in flight. The slot is given away only after that. Prompts run beside the frames in flight; those of slots
that a frame in flight may still have go after it, so none can meet the slot's next owner.

A new stream waits for no frame in flight. Its first frame is a separate step after its prompt. It joins the others when
that frame is read back.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
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

# Between two looks at the device: with a listener, and without one while frames in flight keep it busy.
_LOOK_S, _CALM_LOOK_S = 2e-4, 1e-3
# An opening reads all weights for a row or two and takes that from the frames beside it. Behind one, none begins for
# so many times as long as it took, so that openings have a fifth of the time at most; who comes then joins the others.
_REST_BEHIND_OPENING = 4.0
# An opening saves one stream the frames in flight and makes all others wait: with more live streams, more is lost.
_MOST_HEARD_BESIDE_OPENING = 16


class Prefill(Protocol):
    """The passes over the prompts of those that are admitted together. Nothing here waits for the device."""

    def launch(self, admissions: Sequence[SlotAdmission], num_tokens: int, *, behind_frames: bool) -> None:
        """One pass of `num_tokens`, enough for the rows of all, behind the frames in flight or beside them."""
        ...

    def join(self) -> None:
        """The frames that are launched from here on come behind the passes so far."""
        ...

    def extend(self, slot: int, start: int, ids: Sequence[int], max_frames: int) -> None:
        """Text beside frame `start` of a slot and those after it, behind the frames in flight."""
        ...


@dataclass(frozen=True, slots=True)
class OpeningFrames:
    """frames: behind the passes over prompts, beside the frames of all others; one step at a time, of at most
    `most_rows` slots."""

    frames: FrameExecutor
    most_rows: int


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
        openings: OpeningFrames | None,
    ) -> None:
        """max_in_flight: steps launched and not read back yet, without the openings.

        chunks: what streamed requests hand on, counted in frames that were read back.
        openings: None: streams that begin join those that run.
        """
        self._prefill = prefill
        self._frames = frames
        self._scheduler = scheduler
        self._plan = plan
        self._max_in_flight = max_in_flight
        self._chunks = chunks
        self._openings = openings
        self._in_flight: deque[_InFlight] = deque()
        self._opening: _InFlight | None = None
        self._opening_began_s = self._next_opening_s = 0.0
        self._admitted: list[RequestState] = []
        self._codes = np.zeros((shape.num_slots, shape.num_positions, shape.num_codebooks), dtype=np.int16)
        self._num_frames = np.zeros(shape.num_slots, dtype=np.int64)
        self._num_launched = np.zeros(shape.num_slots, dtype=np.int64)
        self._most_launches = np.zeros(shape.num_slots, dtype=np.int64)
        self._owner = np.zeros(shape.num_slots, dtype=np.int64)
        self._opens = np.zeros(shape.num_slots, dtype=bool)
        self._last_step = np.zeros(shape.num_slots, dtype=np.int64)
        self._steps_launched = self._steps_read = 0
        self._streamed: dict[int, RequestState] = {}
        self._open: dict[int, RequestState] = {}

    @property
    def has_work(self) -> bool:
        return bool(self._in_flight or self._opening or self._scheduler.has_room or self._due().size)

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
            self._last_step[slot] = self._steps_launched + 1
            self._set_text(slot, request)

    def cancel(self, request: RequestState) -> None:
        slot = self._scheduler.cancel(request)
        if slot is not None:
            self._leave(slot)

    def step(self, has_news: Callable[[], bool]) -> LaneStep:
        self._admit_waiting()
        while len(self._in_flight) < self._max_in_flight and self._launch():
            if len(self._in_flight) < self._max_in_flight:
                self._admit_waiting()
        if not (self._in_flight or self._opening):
            return LaneStep(self._taken_admitted(), (), (), 0)
        step = self._next_done(has_news)
        if step is None:
            return LaneStep((), (), (), 0, was_cut_short=True)
        return self._read_back(step, self._taken_admitted())

    def _taken_admitted(self) -> Sequence[RequestState]:
        admitted, self._admitted = self._admitted, []
        return admitted

    def _next_done(self, has_news: Callable[[], bool]) -> _InFlight | None:
        """The step that is to be read back next. None: there is news before any is done."""
        if self._openings is None:
            return self._taken_step()
        while True:
            if self._opening is not None and self._opening.launched.is_done():
                return self._taken_opening(self._opening)
            if self._in_flight and self._in_flight[0].launched.is_done():
                return self._taken_step()
            if has_news():
                return None
            time.sleep(_LOOK_S if self._streamed else _CALM_LOOK_S)

    def _taken_step(self) -> _InFlight:
        self._steps_read += 1
        return self._in_flight.popleft()

    def _taken_opening(self, opening: _InFlight) -> _InFlight:
        now_s = time.monotonic()
        self._next_opening_s = now_s + _REST_BEHIND_OPENING * (now_s - self._opening_began_s)
        self._opening = None
        return opening

    def _admit_waiting(self) -> None:
        admissions = self._scheduler.admit()
        for group in self._plan.groups(admissions):
            slots = [admission.slot for admission in group.admissions]
            behind_frames = bool((self._last_step[slots] > self._steps_read).any())
            self._prefill.launch(group.admissions, group.num_tokens, behind_frames=behind_frames)
        for admission in admissions:
            self._take_slot(admission.slot, admission.request)
        self._admitted += [admission.request for admission in admissions]
        openings = self._slots_to_open(admissions)
        if len(openings) < len(admissions):
            self._prefill.join()
        if openings and self._openings is not None:
            self._opens[openings] = True
            self._opening_began_s = time.monotonic()
            self._opening = self._launched(np.array(openings, dtype=np.int64), self._openings.frames)

    def _slots_to_open(self, admissions: Sequence[SlotAdmission]) -> list[int]:
        """The first frame is made apart for live streams, while others' frames are in flight."""
        if self._openings is None or not self._in_flight or self._opening is not None:
            return []
        if len(self._streamed) > _MOST_HEARD_BESIDE_OPENING:
            return []
        heard = [admission for admission in admissions if admission.request.is_streamed]
        if not heard or time.monotonic() < self._next_opening_s:
            return []
        # One whose text is still being written may stand still before its first frame.
        return [admission.slot for admission in heard if not admission.request.is_open][: self._openings.most_rows]

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
        return running[(self._num_launched[running] < self._most_launches[running]) & ~self._opens[running]]

    def _launch(self) -> bool:
        """False: there was no row to make a frame for."""
        slots = self._due()
        if not slots.size:
            return False
        self._steps_launched += 1
        self._last_step[slots] = self._steps_launched
        self._in_flight.append(self._launched(slots, self._frames))
        return True

    def _launched(self, slots: NDArray[np.int64], frames: FrameExecutor) -> _InFlight:
        self._num_launched[slots] += 1
        return _InFlight(slots, self._owner[slots], frames.launch(slots.tolist()))

    def _read_back(self, step: _InFlight, admitted: Sequence[RequestState]) -> LaneStep:
        packet = step.launched.wait()
        statuses = packet[:, -1]
        owned = self._owner[step.slots] == step.owners
        self._opens[step.slots[owned]] = False
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
        self._opens[slot] = False
        self._streamed.pop(slot, None)
        self._open.pop(slot, None)
