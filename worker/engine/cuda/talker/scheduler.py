"""Which request gets which slot, and when: requests join between any two frames. Pure: no tensors, threads or clock."""

from __future__ import annotations

from collections.abc import Sequence

from worker.engine.cuda.talker.prefill.pack import SlotAdmission
from worker.engine.interface import Urgency
from worker.engine.profiles import AdmissionPolicy
from worker.engine.requests.budget import expected_frames
from worker.engine.requests.request_state import RequestState
from worker.engine.serving.admission_queue import AdmissionQueue

# For every so many that run, one arrival is waited for before a pass over prompts holds them all up.
_RUNNING_PER_ARRIVAL = 16


class SlotScheduler:
    """Single-threaded: belongs to the engine's loop.

    The queue is that of every lane. Interactive requests wait for no company; of bulk, behind the openings, the longest
    expected speech goes first, so that the last ones to run are short and the batch stays full to the end. A request
    that has seen as many others admitted as there are slots is next of its like.
    """

    def __init__(self, num_slots: int, policy: AdmissionPolicy) -> None:
        self._policy = policy
        self._free = list(reversed(range(num_slots)))
        self._running: dict[int, RequestState] = {}
        self._waiting = AdmissionQueue(_longest_bulk_first, most_admitted=num_slots)
        self._steps_waited = 0

    @property
    def num_waiting(self) -> int:
        return len(self._waiting)

    @property
    def running(self) -> Sequence[int]:
        """The slots in use, in the order of admission."""
        return tuple(self._running)

    def request_of(self, slot: int) -> RequestState:
        return self._running[slot]

    def add(self, request: RequestState) -> None:
        self._waiting.add(request, request.urgency, is_opening=request.is_opening)

    def cancel(self, request: RequestState) -> int | None:
        """The request runs no more; its slot if it had one, which is free now. Others are ignored."""
        if self._waiting.take(lambda waiting: waiting is request) is not None:
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
        """Called once per step: the requests that take a slot before it."""
        if not self._is_time():
            return ()
        admissions: list[SlotAdmission] = []
        prefill_rows = 0
        while self._free and self._waiting:
            prefill_rows += self._waiting.peek().prompt.num_rows
            if admissions and prefill_rows > self._policy.max_prefill_rows:
                break
            request, slot = self._waiting.pop(), self._free.pop()
            self._running[slot] = request
            admissions.append(SlotAdmission(slot, request))
        return tuple(admissions)

    def _is_time(self) -> bool:
        possible = min(len(self._free), self.num_waiting)
        if not possible:
            self._steps_waited = 0
            return False
        self._steps_waited += 1
        company = min(self._policy.least_together, len(self._running) // _RUNNING_PER_ARRIVAL)
        is_awaited = self._waiting.has_interactive
        if is_awaited or possible >= company or self._steps_waited > self._policy.patience_steps:
            self._steps_waited = 0
            return True
        return False


def _longest_bulk_first(request: RequestState) -> int:
    """Interactive requests in the order they came."""
    if request.urgency is Urgency.INTERACTIVE:
        return 0
    return -min(request.max_frames, expected_frames(request.prompt.num_text_tokens))
