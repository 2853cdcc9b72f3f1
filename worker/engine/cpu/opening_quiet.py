"""While the opening of a job is spoken, what follows it waits, so that listening begins at once. Pure.

On a CPU every row makes each frame slower for all: sixteen rows take five times as long a frame as one. An opening that
began together with the rest of its job would be heard when most of that is done. The rows it keeps empty meanwhile cost
the whole a few per cent, because the openings are short and each quiet has to be earned by those who waited.
"""

from __future__ import annotations

from worker.engine.interface import Urgency
from worker.engine.requests.request_state import RequestState
from worker.engine.serving.slot_queue import SlotQueue


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
