"""Requests to frames, one step after the other: what the engine's loop drives, and how it is done on a CPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from worker.engine.chunks import ChunkPlan
from worker.engine.interface import CodecFrames
from worker.engine.native.request_state import RequestState, RowEnd
from worker.engine.native.runner import StepRunner
from worker.engine.native.scheduler import Scheduler

# Prompts are 40 to 300 rows; this is a handful of them between two frames.
_MAX_PREFILL_ROWS = 512
# On a CPU a slot falls free every second or so, which is too long for somebody who waits. On a GPU, with hundreds of
# slots, one does every few milliseconds.
_SLOTS_PER_SPARE_ROW = 8


@dataclass(frozen=True, slots=True)
class EndedSpeech:
    """`request` has left the batch with these frames (T, Q)."""

    request: RequestState
    end: RowEnd
    frames: CodecFrames


@dataclass(frozen=True, slots=True)
class SpeechPart:
    """The next frames (n, Q) of a streamed `request` that speaks on. When it ends, `EndedSpeech` brings all of them."""

    request: RequestState
    frames: CodecFrames


@dataclass(frozen=True, slots=True)
class LaneStep:
    """admitted: who joined the batch; parts: what streamed requests have said; ended: who left the batch;
    num_frames: how many frames were made for those who run."""

    admitted: Sequence[RequestState]
    parts: Sequence[SpeechPart]
    ended: Sequence[EndedSpeech]
    num_frames: int


class TalkerLane(Protocol):
    """Single-threaded: belongs to the engine's loop."""

    @property
    def has_work(self) -> bool: ...

    def add(self, request: RequestState) -> None: ...

    def cancel(self, request: RequestState) -> None:
        """The request is in no later step's results. Requests that have ended are ignored."""
        ...

    def step(self) -> LaneStep:
        """Moves on by one step. There is work."""
        ...


class EagerTalkerLane:
    """One frame at a time, each looked at before the next begins."""

    def __init__(self, runner: StepRunner, num_slots: int, chunks: ChunkPlan) -> None:
        """runner: with `rows_for` so many slots."""
        self._runner = runner
        self._chunks = chunks
        self._scheduler = Scheduler(num_slots, _num_spare_rows(num_slots), _MAX_PREFILL_ROWS)

    @property
    def has_work(self) -> bool:
        return self._scheduler.num_running > 0 or self._scheduler.num_waiting > 0

    def add(self, request: RequestState) -> None:
        self._scheduler.add(request)

    def cancel(self, request: RequestState) -> None:
        self._scheduler.cancel(request)

    def step(self) -> LaneStep:
        plan = self._scheduler.plan()
        if plan is None:
            return LaneStep((), (), (), 0)
        ended = tuple(
            EndedSpeech(one.request, one.end, self._runner.frames(one.row, one.request.frames))
            for one in self._scheduler.commit(plan, self._runner.run(plan))
        )
        over = {one.request for one in ended}
        parts = tuple(
            self._part(row, request)
            for row, request in enumerate(plan.rows)
            if request not in over and is_part_due(request, self._chunks)
        )
        admitted = tuple(admission.request for admission in plan.admissions)
        return LaneStep(admitted, parts, ended, len(plan.rows) - len(ended))

    def _part(self, row: int, request: RequestState) -> SpeechPart:
        frames = self._runner.frames(row, request.frames)[request.handed_on :]
        request.handed_on = request.frames
        return SpeechPart(request, frames)


def rows_for(num_slots: int) -> int:
    """Rows of a batch with so many slots: some more, for interactive requests that find every slot taken."""
    return num_slots + _num_spare_rows(num_slots)


def _num_spare_rows(num_slots: int) -> int:
    return max(1, num_slots // _SLOTS_PER_SPARE_ROW)


def is_part_due(request: RequestState, chunks: ChunkPlan) -> bool:
    """Whether a streamed request has spoken a whole chunk since the last one."""
    return request.is_streamed and request.frames - request.handed_on >= chunks.length_behind(request.handed_on)
