"""Which request gets which slot, and when: requests join between any two frames. Pure: no tensors, threads or clock."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from worker.engine.cuda.talker.prefill.pack import SlotAdmission
from worker.engine.interface import Urgency
from worker.engine.profiles import AdmissionPolicy
from worker.engine.requests.budget import expected_frames
from worker.engine.requests.request_state import RequestState
from worker.engine.serving.admission_queue import AdmissionPace, AdmissionQueue


class SlotScheduler:
    """Single-threaded: belongs to the engine's loop.

    The queue is that of every lane. Interactive requests start at once. Of bulk requests, after the openings, the
    longest expected speech goes first. So the last ones are short and the batch stays full to the end. A request that
    has seen as many others admitted as there are slots is next of its like.

    Live speech has the last `num_live` slots for itself, and takes no others.
    """

    def __init__(self, num_slots: int, num_live: int, policy: AdmissionPolicy) -> None:
        self._policy = policy
        self._num_slots = num_slots
        # The one that was free longest first: no frame in flight has it still.
        self._free = deque(range(num_slots))
        self._free_live = deque(range(num_slots, num_slots + num_live))
        self._running: dict[int, RequestState] = {}
        self._waiting = AdmissionQueue(_longest_bulk_first, most_admitted=num_slots)
        self._waiting_live: AdmissionQueue[RequestState] = AdmissionQueue()
        self._pace = AdmissionPace(policy)

    @property
    def num_waiting(self) -> int:
        return len(self._waiting) + len(self._waiting_live)

    @property
    def has_room(self) -> bool:
        """For one that waits."""
        return bool((self._free and self._waiting) or (self._free_live and self._waiting_live))

    @property
    def running(self) -> Sequence[int]:
        """The slots in use, in the order of admission."""
        return tuple(self._running)

    def request_of(self, slot: int) -> RequestState:
        return self._running[slot]

    def add(self, request: RequestState) -> None:
        waiting = self._waiting_live if request.urgency is Urgency.LIVE else self._waiting
        waiting.add(request, request.urgency, is_opening=request.is_opening)

    def cancel(self, request: RequestState) -> int | None:
        """The request runs no more; its slot if it had one, which is free now. Others are ignored."""
        for waiting in (self._waiting_live, self._waiting):
            if waiting.take(lambda other: other is request) is not None:
                return None
        slot = self.slot_of(request)
        if slot is not None:
            self.release(slot)
        return slot

    def slot_of(self, request: RequestState) -> int | None:
        """None while it waits, and once it is over."""
        return next((slot for slot, running in self._running.items() if running is request), None)

    def release(self, slot: int) -> None:
        del self._running[slot]
        (self._free if slot < self._num_slots else self._free_live).append(slot)

    def admit(self) -> tuple[SlotAdmission, ...]:
        """Called once per step: the requests that take a slot before it, live speech first."""
        queues = [(self._waiting_live, self._free_live)]
        if self._is_time():
            queues.append((self._waiting, self._free))
        admissions: list[SlotAdmission] = []
        prefill_rows = 0
        for waiting, free in queues:
            while free and waiting:
                prefill_rows += waiting.peek().num_input_rows
                if admissions and prefill_rows > self._policy.max_prefill_rows:
                    return tuple(admissions)
                request, slot = waiting.pop(), free.popleft()
                self._running[slot] = request
                admissions.append(SlotAdmission(slot, request))
        return tuple(admissions)

    def _is_time(self) -> bool:
        possible = min(len(self._free), len(self._waiting))
        return self._pace.is_time(possible, len(self._running), is_awaited=self._waiting.has_interactive)


def _longest_bulk_first(request: RequestState) -> int:
    """Interactive requests in the order they came."""
    if request.urgency is Urgency.INTERACTIVE:
        return 0
    return -min(request.max_frames, expected_frames(request.prompt.num_text_tokens))
