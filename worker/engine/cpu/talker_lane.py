"""The talker's lane of a CPU: requests to frames, each frame read back before the next begins."""

from __future__ import annotations

from worker.engine.cpu.runner import StepRunner
from worker.engine.cpu.scheduler import Scheduler
from worker.engine.requests.request_state import RequestState
from worker.engine.serving.chunks import ChunkPlan
from worker.engine.serving.slot_queue import num_spare_slots
from worker.engine.serving.talker_lane import EndedSpeech, LaneStep, SpeechPart, is_part_due

# Prompts are 40 to 300 rows; this is a handful of them between two frames.
_MAX_PREFILL_ROWS = 512


class EagerTalkerLane:
    """One frame at a time, each read back before the next begins."""

    def __init__(self, runner: StepRunner, num_slots: int, chunks: ChunkPlan) -> None:
        """runner: with `rows_for` so many slots."""
        self._runner = runner
        self._chunks = chunks
        self._scheduler = Scheduler(num_slots, num_spare_slots(num_slots), _MAX_PREFILL_ROWS)

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
    return num_slots + num_spare_slots(num_slots)
