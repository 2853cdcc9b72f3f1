"""Which requests are in the batch: they join and leave between any two frames. Pure: knows no tensors and no threads.

Running requests are the rows 0 to n - 1 of every device tensor, live speech first. A row that falls free is given to a
waiting request, and where none waits, the last row moves into it. While live speech would run dry, only its rows take a
step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from worker.engine.cpu.giving_way import GivingWay
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
    """In this order: moves, admissions, one frame for each of the first rows, as many as take the step, that does not
    stand still."""

    admissions: tuple[Admission, ...]
    moves: tuple[Move, ...]
    rows: tuple[RequestState, ...]
    num_stepped: int

    @property
    def stepped(self) -> tuple[RequestState, ...]:
        return self.rows[: self.num_stepped]

    @property
    def speaks(self) -> tuple[bool, ...]:
        """Of each row, until `commit`."""
        return tuple(row < self.num_stepped and not each.stands_still for row, each in enumerate(self.rows))

    @property
    def attention_length(self) -> int:
        """The longest history of any row of the step."""
        return max(request.attention_length for request in self.stepped)


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
        self._giving_way = GivingWay()
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

    def plan(self, now_s: float) -> StepPlan | None:
        """The next step, or None when none speaks or may begin to. now_s: on the monotonic clock."""
        under_way = (request for request in self._rows if request is not None)
        gives_way = self._giving_way.holds(under_way, now_s)
        entered = self._admit(gives_way=gives_way)
        moves = self._make_room(entered)
        admissions = tuple(self._place(request) for request in entered)
        rows = tuple(request for request in self._rows if request is not None)
        has_live_step = gives_way or any(each.urgency is Urgency.LIVE for each in entered)
        plan = StepPlan(admissions, moves, rows, self._slots.num_live if has_live_step else len(rows))
        return plan if rows and (admissions or moves or any(plan.speaks)) else None

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

    def _admit(self, *, gives_way: bool) -> list[RequestState]:
        entered: list[RequestState] = []
        prefill_rows = 0
        while (request := self._slots.peek()) is not None and self._may_join(request):
            prefill_rows += request.num_input_rows
            is_too_much = entered and prefill_rows > self._max_prefill_rows
            if is_too_much or (gives_way and request.urgency is not Urgency.LIVE):
                break
            self._slots.take()
            self._quiet.entered(request)
            entered.append(request)
        return entered

    def _may_join(self, request: RequestState) -> bool:
        return request.urgency is Urgency.LIVE or self._quiet.admits(request)

    def _make_room(self, entered: Sequence[RequestState]) -> tuple[Move, ...]:
        """Afterwards live speech has the first rows, and there are no more gaps than who has entered will fill."""
        moves: list[Move] = []
        num_live, num_others = self._slots.num_live, sum(each.urgency is not Urgency.LIVE for each in entered)

        def move(source: int, target: int) -> None:
            request = self._rows[source]
            assert request is not None  # noqa: S101  (who calls has looked)
            self._rows[target : target + 1] = [request]
            self._rows[source] = None
            moves.append(Move(source, target, request.attention_length))

        self._rows += [None] * (num_live - len(self._rows))
        for row, request in enumerate(self._rows[:num_live]):
            if request is not None and request.urgency is not Urgency.LIVE:
                move(row, self._gap(num_live))
        for row, request in enumerate(self._rows[num_live:], num_live):
            if request is not None and request.urgency is Urgency.LIVE:
                move(row, self._gap(0))
        while self._rows[num_live:].count(None) > num_others:
            if self._rows[-1] is not None:
                move(len(self._rows) - 1, self._gap(num_live))
            self._rows.pop()
        return tuple(moves)

    def _place(self, request: RequestState) -> Admission:
        row = self._gap(0 if request.urgency is Urgency.LIVE else self._slots.num_live)
        self._rows[row : row + 1] = [request]
        return Admission(row, request)

    def _gap(self, start: int) -> int:
        """The first free row from `start` on, or the one behind all."""
        return next((row for row in range(start, len(self._rows)) if self._rows[row] is None), len(self._rows))


# While the opening of a job is spoken, what follows it waits, so that listening begins at once.
# On a CPU every row makes each frame slower: sixteen rows take five times as long a frame as one.
# The empty rows cost a few per cent: openings are short, and each quiet is earned by those that waited.
class OpeningQuiet:
    """Single-threaded: belongs to the engine's loop.

    It begins with an opening that finds fewer than half of the rows in use, and ends with that opening. Other openings
    join, and so does interactive work where the opening is bulk. The next quiet begins only after every request that
    waited at the end of the last one has gone in, so none waits for two.
    """

    def __init__(self, slots: SlotQueue, num_rows: int) -> None:
        self._slots = slots
        self._num_rows = num_rows
        self._opening: RequestState | None = None
        self._owed = 0

    def admits(self, request: RequestState) -> bool:
        """Whether the next request may go in now."""
        opening = self._opening
        if opening is None or request.is_opening:
            return True
        return request.urgency is Urgency.INTERACTIVE and opening.urgency is Urgency.BULK

    def entered(self, request: RequestState) -> None:
        """It has just taken a slot."""
        self._owed = min(self._owed, self._slots.num_waiting)
        num_others = self._slots.num_running - 1
        if request.is_opening and self._opening is None and not self._owed and 2 * num_others < self._num_rows:
            self._opening = request

    def left(self, request: RequestState) -> None:
        """It has ended or was cancelled. Others than the opening are ignored."""
        if request is self._opening:
            self._opening = None
            self._owed = self._slots.num_waiting
