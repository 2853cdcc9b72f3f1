"""Assigns slots to requests, for lanes that only count slots. Pure: no tensors, no threads."""

from __future__ import annotations

from worker.engine.interface import Urgency
from worker.engine.requests.request_state import RequestState
from worker.engine.serving.admission_queue import AdmissionQueue

# On a CPU, a slot becomes free about once a second, too slow for an interactive request. On a GPU, with hundreds of
# slots, one becomes free every few milliseconds.
_SLOTS_PER_SPARE = 8


class SlotQueue:
    """Only the engine's loop thread uses it.

    num_spare: slots beyond `num_slots`, for interactive requests while all of these are taken. A request keeps its kind
    of slot to its end.

    num_live: slots for live speech only.
    """

    def __init__(self, num_slots: int, num_spare: int, num_live: int) -> None:
        self._num_slots = num_slots
        self._num_spare = num_spare
        self._num_live = num_live
        self._waiting: AdmissionQueue[RequestState] = AdmissionQueue()
        self._waiting_live: AdmissionQueue[RequestState] = AdmissionQueue()
        self._running: set[RequestState] = set()
        self._in_spare: set[RequestState] = set()
        self._in_live: set[RequestState] = set()

    @property
    def num_waiting(self) -> int:
        return len(self._waiting) + len(self._waiting_live)

    @property
    def is_awaited(self) -> bool:
        """Whether live or interactive requests wait here."""
        return bool(self._waiting_live) or self._waiting.has_interactive

    @property
    def num_live(self) -> int:
        """Running requests of live speech."""
        return len(self._in_live)

    @property
    def num_running(self) -> int:
        return len(self._running)

    def add(self, request: RequestState) -> None:
        waiting = self._waiting_live if request.urgency is Urgency.LIVE else self._waiting
        waiting.add(request, request.urgency, is_opening=request.is_opening)

    def peek(self) -> RequestState | None:
        """The request that gets the next slot, or None if none waits or no slot fits."""
        if self._live_is_next:
            return self._waiting_live.peek()
        if self._has_room:
            return self._waiting.peek() if self._waiting else None
        has_spare = len(self._in_spare) < self._num_spare
        return self._waiting.peek_interactive() if has_spare else None

    def take(self) -> None:
        """Give a slot to the request that `peek` returns."""
        if self._live_is_next:
            request = self._waiting_live.pop()
            self._in_live.add(request)
        elif self._has_room:
            request = self._waiting.pop()
        else:
            request = self._waiting.pop_interactive()
            self._in_spare.add(request)
        self._running.add(request)

    def leave(self, request: RequestState) -> None:
        """Forget the request and free its slot. Unknown requests are ignored."""
        for waiting in (self._waiting_live, self._waiting):
            waiting.take(lambda other: other is request)
        for taken in (self._running, self._in_spare, self._in_live):
            taken.discard(request)

    @property
    def _live_is_next(self) -> bool:
        return bool(self._waiting_live) and len(self._in_live) < self._num_live

    @property
    def _has_room(self) -> bool:
        """Whether a slot for any urgency is free."""
        return len(self._running) - len(self._in_spare) - len(self._in_live) < self._num_slots


def num_spare_slots(num_slots: int) -> int:
    """Number of spare slots on a CPU."""
    return max(1, num_slots // _SLOTS_PER_SPARE)
