"""Which requests have a slot, in lanes that only count slots. Pure: knows no tensors and no threads."""

from __future__ import annotations

from worker.engine.interface import Urgency
from worker.engine.requests.request_state import RequestState
from worker.engine.serving.admission_queue import AdmissionQueue

# On a CPU a slot falls free every second or so, too long for an interactive request. On a GPU, with hundreds of slots,
# one does every few milliseconds.
_SLOTS_PER_SPARE = 8


class SlotQueue:
    """Single-threaded: belongs to the engine's loop.

    num_spare: slots beyond `num_slots`, for interactive requests that find these taken: bulk can keep a slot for as
    long as its speech takes. A request that was admitted there counts as there to its end, so that the turns of the
    others stay as they are.

    num_live: slots of live speech, which takes no others.
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
    def num_live(self) -> int:
        """Of live speech, those that run."""
        return len(self._in_live)

    @property
    def num_running(self) -> int:
        return len(self._running)

    def add(self, request: RequestState) -> None:
        waiting = self._waiting_live if request.urgency is Urgency.LIVE else self._waiting
        waiting.add(request, request.urgency, is_opening=request.is_opening)

    def peek(self) -> RequestState | None:
        """The request that may have a slot next; None where none waits, or none that waits may have one."""
        if self._live_is_next:
            return self._waiting_live.peek()
        if self._has_room:
            return self._waiting.peek() if self._waiting else None
        has_spare = len(self._in_spare) < self._num_spare
        return self._waiting.peek_interactive() if has_spare else None

    def take(self) -> None:
        """The one that `peek` shows has a slot from now on."""
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
        """It neither waits nor has a slot any more. Others are ignored."""
        for waiting in (self._waiting_live, self._waiting):
            waiting.take(lambda other: other is request)
        for taken in (self._running, self._in_spare, self._in_live):
            taken.discard(request)

    @property
    def _live_is_next(self) -> bool:
        return bool(self._waiting_live) and len(self._in_live) < self._num_live

    @property
    def _has_room(self) -> bool:
        """For a request of any urgency."""
        return len(self._running) - len(self._in_spare) - len(self._in_live) < self._num_slots


def num_spare_slots(num_slots: int) -> int:
    """On a CPU."""
    return max(1, num_slots // _SLOTS_PER_SPARE)
