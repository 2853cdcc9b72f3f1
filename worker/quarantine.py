"""Who may run together: everybody, or one suspect alone.

An item that was present at several deaths (of the engine, or of the whole worker) runs with nobody else beside it,
so that a further death convicts it and nobody innocent pays.
"""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager

from storage.jobs import QUARANTINE_SUSPICIONS, ClaimedItem


class QuarantineGate:
    """A shared and exclusive lock. A waiting suspect lets nobody else in, so that it is not starved."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside = 0
        self._suspects_waiting = 0
        self._is_exclusive = False

    def admit(self, item: ClaimedItem) -> AbstractContextManager[None]:
        """Enter as the item's past asks for."""
        return self.alone() if item.suspicions >= QUARANTINE_SUSPICIONS else self.together()

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
        """Enter when everybody else has left."""
        with self._changed:
            self._suspects_waiting += 1
            try:
                self._changed.wait_for(lambda: not self._is_exclusive and not self._inside)
            finally:
                self._suspects_waiting -= 1
            self._is_exclusive = True
        try:
            yield
        finally:
            with self._changed:
                self._is_exclusive = False
                self._changed.notify_all()
