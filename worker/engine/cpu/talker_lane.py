"""The talker's lane of a CPU: requests to frames, each frame read back before the next begins."""

from __future__ import annotations

import time
from collections.abc import Callable

from worker.engine.cpu.runner import StepRunner
from worker.engine.cpu.scheduler import Scheduler
from worker.engine.interface import CodecFrames
from worker.engine.requests.request_state import RequestState
from worker.engine.serving.chunks import ChunkPlan
from worker.engine.serving.slot_queue import num_spare_slots
from worker.engine.serving.talker_lane import EndedSpeech, LaneStep, MoreText, SpeechPart, is_part_due

# Prompts are 40 to 300 rows; this is a handful of them between two frames.
_MAX_PREFILL_ROWS = 512


class EagerTalkerLane:
    """One frame at a time, each read back before the next begins."""

    def __init__(self, runner: StepRunner, num_slots: int, num_live: int, chunks: ChunkPlan) -> None:
        """runner: with `rows_for` so many slots."""
        self._runner = runner
        self._chunks = chunks
        self._scheduler = Scheduler(num_slots, num_spare_slots(num_slots), num_live, _MAX_PREFILL_ROWS)

    @property
    def has_work(self) -> bool:
        return self._scheduler.has_work

    @property
    def num_standing(self) -> int:
        return self._scheduler.num_standing

    def add(self, request: RequestState) -> None:
        self._scheduler.add(request)

    def extend(self, more: MoreText) -> None:
        request = more.request
        start = len(request.prompt.trailing_text_ids)
        request.extend_text(more.ids, more.max_frames, is_last=more.is_last)
        row = self._scheduler.row_of(request)
        if row is not None:
            self._runner.extend(row, request, start)

    def cancel(self, request: RequestState) -> None:
        self._scheduler.cancel(request)

    def step(self, has_news: Callable[[], bool]) -> LaneStep:
        plan = self._scheduler.plan(time.monotonic())
        if plan is None:
            return LaneStep((), (), (), 0)
        ends = self._runner.run(plan)
        num_frames = sum(plan.speaks)
        ended = tuple(
            EndedSpeech(one.request, one.end, self._frames(one.row, one.request, one.request.num_prefix))
            for one in self._scheduler.commit(plan, ends)
        )
        over = {one.request for one in ended}
        parts = tuple(
            self._part(row, request)
            for row, request in enumerate(plan.rows)
            if request not in over and is_part_due(request, self._chunks)
        )
        admitted = tuple(admission.request for admission in plan.admissions)
        return LaneStep(admitted, parts, ended, num_frames - len(ended))

    def _part(self, row: int, request: RequestState) -> SpeechPart:
        frames = self._frames(row, request, request.handed_on)
        request.handed_on = request.frames
        return SpeechPart(request, frames)

    def _frames(self, row: int, request: RequestState, start: int) -> CodecFrames:
        return self._runner.frames(row, request.frames)[start:]


def rows_for(num_slots: int, num_live: int) -> int:
    """Rows of a batch with so many slots: some more, for interactive requests that find every slot taken."""
    return num_slots + num_spare_slots(num_slots) + num_live
