"""Who works on which queue, and with how many slots: workers say it every few seconds while they live.

These figures decide a job's window and how many documents of a tenant are read at a time. They also show a client
whether its waiting job has a worker at all. Nothing else uses them: an unlisted worker gets work like any other.
"""

from __future__ import annotations

from storage.database.functions import FunctionCalls
from storage.ids import WorkQueue

ANNOUNCE_INTERVAL_S = 10.0

TTL_S = 35.0
"""Three announcements may be late before a worker counts as gone."""


class WorkerSlots(FunctionCalls):
    """Safe to share between threads, as the client is. `clock` as of `JobStore`."""

    def announce(self, queue: WorkQueue, worker: str, slots: int) -> None:
        """This worker is there for the next `TTL_S`. Raises `StoreUnavailable`."""
        if slots < 1:
            raise ValueError(f"a worker with {slots} slots")
        self._say(queue, worker, slots)

    def leave(self, queue: WorkQueue, worker: str) -> None:
        """This worker takes nothing more. Raises `StoreUnavailable`."""
        self._say(queue, worker, 0)

    def slots(self, queue: WorkQueue) -> int:
        """What all workers of the queue can do at the same time; 0 when there is none. Raises `StoreUnavailable`."""
        return self._functions.call("worker_slots", queue=queue).number("slots")

    def _say(self, queue: WorkQueue, worker: str, slots: int) -> None:
        self._functions.call("announce", queue=queue, worker=worker, slots=slots, ttl_ms=round(TTL_S * 1000))
