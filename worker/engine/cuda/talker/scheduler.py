"""Who gets a slot, and when: requests join between any two frames. Pure: knows no tensors, no threads and no clock."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from worker.engine.cuda.talker.prefill.pack import SlotAdmission
from worker.engine.interface import Urgency
from worker.engine.profiles import AdmissionPolicy
from worker.engine.requests.budget import expected_frames
from worker.engine.requests.request_state import RequestState
from worker.engine.serving.priority_queue import ClassWeights

# For every so many that run, one arrival is waited for before a pass over prompts holds them all up.
_RUNNING_PER_ARRIVAL = 16

_BEFORE_ANY_LENGTH = -(1 << 31)


@dataclass(slots=True, eq=False)
class _Waiting:
    """`turn`: how many had been admitted when the request came."""

    request: RequestState
    turn: int
    gone: bool = False


class SlotScheduler:
    """Single-threaded: belongs to the engine's loop.

    Interactive requests go first, in the order they came, and wait for no company. Of bulk the openings of jobs go
    first, then the longest expected speech, so that the last ones to run are short and the batch stays full to the end.
    Nobody is overtaken for ever: bulk has its turns (`ClassWeights`), and of bulk, who has seen as many others go in as
    there are slots is next.
    """

    def __init__(self, num_slots: int, policy: AdmissionPolicy) -> None:
        self._policy = policy
        self._num_slots = num_slots
        self._free = list(reversed(range(num_slots)))
        self._running: dict[int, RequestState] = {}
        self._interactive: deque[_Waiting] = deque()
        self._by_length: list[tuple[int, int, _Waiting]] = []
        self._by_arrival: deque[_Waiting] = deque()
        self._arrived = self._admitted = self._steps_waited = 0
        self._num_waiting = dict.fromkeys(Urgency, 0)
        self._turns = ClassWeights()

    @property
    def num_waiting(self) -> int:
        return sum(self._num_waiting.values())

    @property
    def running(self) -> Sequence[int]:
        """The slots in use, in the order of admission."""
        return tuple(self._running)

    def request_of(self, slot: int) -> RequestState:
        return self._running[slot]

    def add(self, request: RequestState) -> None:
        waiting = _Waiting(request, self._admitted)
        self._arrived += 1
        self._num_waiting[request.urgency] += 1
        if request.urgency is Urgency.INTERACTIVE:
            self._interactive.append(waiting)
            return
        heapq.heappush(self._by_length, (_rank(request), self._arrived, waiting))
        self._by_arrival.append(waiting)

    def cancel(self, request: RequestState) -> int | None:
        """The request runs no more; its slot if it had one, which is free now. Others are ignored."""
        for waiting in chain(self._interactive, self._by_arrival):
            if waiting.request is request and not waiting.gone:
                self._forget(waiting)
                return None
        for slot, running in self._running.items():
            if running is request:
                self.release(slot)
                return slot
        return None

    def release(self, slot: int) -> None:
        del self._running[slot]
        self._free.append(slot)

    def admit(self) -> tuple[SlotAdmission, ...]:
        """Called once per step: who takes a slot before it."""
        if not self._is_time():
            return ()
        admissions: list[SlotAdmission] = []
        prefill_rows = 0
        while self._free and (waiting := self._next()) is not None:
            prefill_rows += waiting.request.prompt.num_rows
            if admissions and prefill_rows > self._policy.max_prefill_rows:
                break
            self._forget(waiting)
            self._turns.taken(waiting.request.urgency, bulk_waits=self._num_waiting[Urgency.BULK] > 0)
            self._admitted += 1
            slot = self._free.pop()
            self._running[slot] = waiting.request
            admissions.append(SlotAdmission(slot, waiting.request))
        return tuple(admissions)

    def _is_time(self) -> bool:
        possible = min(len(self._free), self.num_waiting)
        if not possible:
            self._steps_waited = 0
            return False
        self._steps_waited += 1
        company = min(self._policy.least_together, len(self._running) // _RUNNING_PER_ARRIVAL)
        is_awaited = self._num_waiting[Urgency.INTERACTIVE] > 0
        if is_awaited or possible >= company or self._steps_waited > self._policy.patience_steps:
            self._steps_waited = 0
            return True
        return False

    def _next(self) -> _Waiting | None:
        if not self.num_waiting:
            return None
        urgency = self._turns.next(
            interactive_waits=self._num_waiting[Urgency.INTERACTIVE] > 0,
            bulk_waits=self._num_waiting[Urgency.BULK] > 0,
        )
        return self._next_interactive() if urgency is Urgency.INTERACTIVE else self._next_of_bulk()

    def _next_interactive(self) -> _Waiting:
        while self._interactive[0].gone:
            self._interactive.popleft()
        return self._interactive[0]

    def _next_of_bulk(self) -> _Waiting:
        while self._by_arrival[0].gone:
            self._by_arrival.popleft()
        while self._by_length[0][2].gone:
            heapq.heappop(self._by_length)
        oldest = self._by_arrival[0]
        return oldest if self._admitted - oldest.turn >= self._num_slots else self._by_length[0][2]

    def _forget(self, waiting: _Waiting) -> None:
        waiting.gone = True
        self._num_waiting[waiting.request.urgency] -= 1


def _rank(request: RequestState) -> int:
    """Of bulk: the lowest goes first. An opening is short, and what follows is no use to a listener without it."""
    return _BEFORE_ANY_LENGTH if request.is_opening else -_expected(request)


def _expected(request: RequestState) -> int:
    return min(request.max_frames, expected_frames(request.prompt.num_text_tokens))
