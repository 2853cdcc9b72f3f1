"""How many threads may wait for a store that does not answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator
from contextlib import contextmanager

from storage.errors import ArtifactError, StoreUnavailable

STUCK_S = 2.0
"""Without one answer, while all places are taken: then who comes is refused, and does not wait as well."""


class CallPlaces:
    """Places for calls of one store, so that a store which does not answer takes no more threads than there are.

    While calls are answered, who finds no place waits for one. Thread-safe.
    """

    def __init__(self, places: int, stuck_s: float = STUCK_S) -> None:
        self._places = places
        self._stuck_s = stuck_s
        self._changed = threading.Condition()
        self._taken = 0
        self._answered_s = 0.0

    @contextmanager
    def place(self) -> Generator[None]:
        """Raises `StoreUnavailable` at once where waiting is of no use."""
        self._take()
        try:
            yield
        except ArtifactError:
            # That there is no such object is an answer.
            self._note_answer()
            raise
        else:
            self._note_answer()
        finally:
            self._leave()

    def _take(self) -> None:
        with self._changed:
            if not self._taken:
                self._answered_s = time.monotonic()
            while self._taken >= self._places:
                left_s = self._answered_s + self._stuck_s - time.monotonic()
                if left_s <= 0:
                    raise StoreUnavailable(f"the store answers none of {self._taken} calls")
                self._changed.wait(left_s)
            self._taken += 1

    def _note_answer(self) -> None:
        with self._changed:
            self._answered_s = time.monotonic()

    def _leave(self) -> None:
        with self._changed:
            self._taken -= 1
            self._changed.notify()
