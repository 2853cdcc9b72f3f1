"""How many streams a worker speaks at the same time. The thread of the live server alone."""

from __future__ import annotations

from collections.abc import Callable


class Places:
    """A stream has one from its beginning to its end, also while it waits for text or for its listener."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._taken = 0
        self._watchers: set[Callable[[], None]] = set()

    @property
    def free(self) -> int:
        return self.number - self._taken

    def take(self) -> bool:
        if not self.free:
            return False
        self._taken += 1
        self._changed()
        return True

    def give_back(self) -> None:
        self._taken -= 1
        self._changed()

    def watch(self, watcher: Callable[[], None]) -> None:
        """Called after every change; it must not wait."""
        self._watchers.add(watcher)

    def unwatch(self, watcher: Callable[[], None]) -> None:
        self._watchers.discard(watcher)

    def _changed(self) -> None:
        for watcher in tuple(self._watchers):
            watcher()
