"""Which requests are in the batch: they join and leave between any two frames. Pure: knows no tensors and no threads.

Running requests are the rows 0 to n - 1 of every device tensor. A row that falls free is given to a waiting request,
and where none waits, the last row moves into it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from worker.engine.cpu.live_room import LiveRoom
from worker.engine.cpu.opening_quiet import OpeningQuiet
from worker.engine.interface import Urgency
from worker.engine.requests.request_state import RequestState, RowEnd
from worker.engine.serving.slot_queue import SlotQueue


@dataclass(frozen=True, slots=True)
class Admission:
    """`request` takes `row`: its prompt is to be prefilled there."""

    row: int
    request: RequestState


@dataclass(frozen=True, slots=True)
class Move:
    """The first `length` positions of row `source`, and all else of it, go to row `target`."""

    source: int
    target: int
    length: int


@dataclass(frozen=True, slots=True)
class StepPlan:
    """In this order: admissions, moves, one frame for every row of `rows` whose request does not stand still."""

    admissions: tuple[Admission, ...]
    moves: tuple[Move, ...]
    rows: tuple[RequestState, ...]

    @property
    def speaks(self) -> tuple[bool, ...]:
        """Of each row, until `commit`."""
        return tuple(not request.stands_still for request in self.rows)

    @property
    def attention_length(self) -> int:
        """The longest history of any row."""
        return max(request.attention_length for request in self.rows)


@dataclass(frozen=True, slots=True)
class EndedRequest:
    """`request` has left the batch; its frames still stand in `row` until the next plan runs."""

    row: int
    request: RequestState
    end: RowEnd


class Scheduler:
    """Single-threaded: belongs to the engine's loop.

    num_spare_rows, num_live_rows: beyond `num_rows`, as `SlotQueue` has them.

    max_prefill_rows: prompt rows run between two frames, so that arrivals cannot starve running streams. A prompt
    is never divided (its rounding, and so its codes, would then depend on the others there), hence at least one
    prompt per step goes in whatever its length.
    """

    def __init__(self, num_rows: int, num_spare_rows: int, num_live_rows: int, max_prefill_rows: int) -> None:
        self._slots = SlotQueue(num_rows, num_spare_rows, num_live_rows)
        self._max_prefill_rows = max_prefill_rows
        self._quiet = OpeningQuiet(self._slots, num_rows)
        self._live_room = LiveRoom()
        self._rows: list[RequestState | None] = []

    @property
    def num_waiting(self) -> int:
        return self._slots.num_waiting

    @property
    def num_running(self) -> int:
        return self._slots.num_running

    @property
    def num_standing(self) -> int:
        return sum(request is not None and request.stands_still for request in self._rows)

    @property
    def has_work(self) -> bool:
        request = self._slots.peek()
        return self.num_running > self.num_standing or (request is not None and self._may_join(request))

    def add(self, request: RequestState) -> None:
        self._slots.add(request)

    def row_of(self, request: RequestState) -> int | None:
        """None while it waits, and once it has ended."""
        return next((row for row, running in enumerate(self._rows) if running is request), None)

    def cancel(self, request: RequestState) -> None:
        """The request is in no later plan. Requests that have ended are ignored."""
        self._slots.leave(request)
        self._quiet.left(request)
        self._rows = [None if row is request else row for row in self._rows]

    def plan(self) -> StepPlan | None:
        """The next step, or None when none speaks or may begin to."""
        admissions = self._admit()
        moves = self._close_gaps()
        rows = tuple(request for request in self._rows if request is not None)
        plan = StepPlan(admissions, moves, rows)
        return plan if rows and (admissions or moves or any(plan.speaks)) else None

    def measured(self, plan: StepPlan, step_s: float) -> None:
        """How long a step without prompts has taken."""
        if not plan.admissions:
            self._live_room.measured(step_s, len(plan.rows))

    def commit(self, plan: StepPlan, ends: Sequence[RowEnd]) -> tuple[EndedRequest, ...]:
        """Take in what the step did to each row of its plan; requests that have ended leave the batch."""
        ended: list[EndedRequest] = []
        for row, (request, speaks, end) in enumerate(zip(plan.rows, plan.speaks, ends, strict=True)):
            if end is RowEnd.RUNNING:
                request.frames += speaks
            else:
                self._rows[row] = None
                self._slots.leave(request)
                self._quiet.left(request)
                ended.append(EndedRequest(row, request, end))
        return tuple(ended)

    def _admit(self) -> tuple[Admission, ...]:
        admissions: list[Admission] = []
        prefill_rows = 0
        while (request := self._slots.peek()) is not None and self._may_join(request):
            prefill_rows += request.num_input_rows
            if admissions and prefill_rows > self._max_prefill_rows:
                break
            self._slots.take()
            self._quiet.entered(request)
            row = self._rows.index(None) if None in self._rows else len(self._rows)
            self._rows[row : row + 1] = [request]
            admissions.append(Admission(row, request))
        return tuple(admissions)

    def _may_join(self, request: RequestState) -> bool:
        if request.urgency is Urgency.LIVE:
            return True
        num_others = self.num_running - self._slots.num_live
        return self._quiet.admits(request) and self._live_room.admits(num_others, self._num_live_speaking)

    @property
    def _num_live_speaking(self) -> int:
        running = (request for request in self._rows if request is not None)
        return sum(request.urgency is Urgency.LIVE and not request.stands_still for request in running)

    def _close_gaps(self) -> tuple[Move, ...]:
        moves: list[Move] = []
        while None in self._rows:
            last = self._rows.pop()
            if last is None:
                continue
            gap = self._rows.index(None)
            self._rows[gap] = last
            moves.append(Move(source=len(self._rows), target=gap, length=last.attention_length))
        return tuple(moves)
