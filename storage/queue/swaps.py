"""Which worker is on the way to which model, so that one goes where one is needed, and none where none could load it.

Nothing of the queue rests on it: a note that is lost has a second worker come along.
"""

from __future__ import annotations

from storage.database.functions import FunctionCalls
from storage.ids import WorkQueue

SWAP_TTL_S = 60.0
RENEW_INTERVAL_S = 15.0
"""A worker on the way says so again; after three that did not come, another may go."""

REST_AFTER_FAILURE_S = 600.0
"""No worker tries a model again for so long after it failed to load."""


class Swaps(FunctionCalls):
    """Safe to share between threads, as the client is. `clock` as of `JobStore`. All calls raise `StoreUnavailable`."""

    def begin(self, queue: WorkQueue, worker: str) -> bool:
        """Whether this worker may go there, or may go on; it says so again every `RENEW_INTERVAL_S`."""
        reply = self._functions.call("begin_swap", queue=queue, worker=worker, ttl_ms=round(SWAP_TTL_S * 1000))
        return reply.status == "ok"

    def resume(self, queue: WorkQueue, worker: str) -> bool:
        """Whether this worker, which starts to serve the queue, was on the way to it; to others it is no more."""
        return self._functions.call("resume_swap", queue=queue, worker=worker).flag("is_arriving")

    def arrived(self, queue: WorkQueue, worker: str) -> float | None:
        """How many seconds it took; None if it was not on the way."""
        return self._end(queue, worker, 0.0)

    def failed(self, queue: WorkQueue, worker: str) -> None:
        """It could not load the model. No worker tries it for a while."""
        self._end(queue, worker, REST_AFTER_FAILURE_S)

    def given_up(self, queue: WorkQueue, worker: str) -> None:
        """It stays where it is; another may go."""
        self._end(queue, worker, 0.0)

    def _end(self, queue: WorkQueue, worker: str, rest_s: float) -> float | None:
        reply = self._functions.call("end_swap", queue=queue, worker=worker, rest_ms=round(rest_s * 1000))
        took_ms = reply.number("took_ms")
        return None if took_ms < 0 else took_ms / 1000
