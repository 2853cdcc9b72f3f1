"""Which items may run together: all, or one suspect alone.

An item that was present at several deaths (of the engine, or of the whole worker) runs alone. So a further death is
certainly its fault, and no other item is affected. A death before its turn does not count against it: the job store
records when it runs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from storage.job_store.store import JobStore
from storage.jobs.work_items import QUARANTINE_SUSPICIONS, ClaimedItem
from worker.items.leases.keeper import HeldLease
from worker.items.leases.persistence import until_available


class QuarantineGate:
    """A shared and exclusive lock. A waiting suspect lets no other in, so that it is not starved.

    others: holds back, while a suspect runs, the other processes that use the same engine.
    """

    def __init__(self) -> None:
        self.others: Callable[[], AbstractContextManager[None]] = nullcontext
        self._changed = threading.Condition()
        self._inside = 0
        self._suspects_waiting = 0
        self._is_exclusive = False

    @contextmanager
    def admitted(self, item: ClaimedItem, held: HeldLease, jobs: JobStore) -> Generator[None]:
        """Enter as the item's past asks for. Raises `WorkDropped`, `LeaseLost`, `JobAborted` or `StoreUnavailable`."""
        if item.suspicions < QUARANTINE_SUSPICIONS:
            with self.together():
                held.check()
                yield
            return
        with self.alone():
            held.check()
            until_available(held, jobs.isolate, item.lease)
            yield

    @contextmanager
    def together(self) -> Generator[None]:
        """Enter with others; waits while a suspect is inside or waiting."""
        with self._changed:
            self._changed.wait_for(lambda: not self._is_exclusive and not self._suspects_waiting)
            self._inside += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Generator[None]:
        """Enter when all others have left."""
        with self._changed:
            self._suspects_waiting += 1
            try:
                self._changed.wait_for(lambda: not self._is_exclusive and not self._inside)
            finally:
                self._suspects_waiting -= 1
            self._is_exclusive = True
        try:
            with self.others():
                yield
        finally:
            with self._changed:
                self._is_exclusive = False
                self._changed.notify_all()
