"""How many streams a worker speaks at the same time. The thread of the live server alone."""

from __future__ import annotations

from collections.abc import Callable


class LivePlaces:
    """A stream has one from its beginning to its end, also while it waits for text or for its listener.

    One that is free may be lent to a stream that has one already: the first that comes for it gets it.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self._taken = 0
        self._borrowers: list[Callable[[], None]] = []
        self._watchers: set[Callable[[], None]] = set()

    @property
    def free(self) -> int:
        return self.number - self._taken

    def take(self) -> bool:
        if not self.free:
            return False
        if self.free == len(self._borrowers):
            # The newest of them has the least to lose.
            self._borrowers.pop()()
        self._taken += 1
        self._changed()
        return True

    def give_back(self) -> None:
        self._taken -= 1
        self._changed()

    def borrow(self, called_back: Callable[[], None]) -> bool:
        """One that is free. called_back: once another stream comes for it, which has it at once; it must not wait."""
        if len(self._borrowers) >= self.free:
            return False
        self._borrowers.append(called_back)
        return True

    def hand_back(self, called_back: Callable[[], None]) -> None:
        """What was borrowed, unless it was called back."""
        if called_back in self._borrowers:
            self._borrowers.remove(called_back)

    def watch(self, watcher: Callable[[], None]) -> None:
        """Called after every change; it must not wait."""
        self._watchers.add(watcher)

    def unwatch(self, watcher: Callable[[], None]) -> None:
        self._watchers.discard(watcher)

    def _changed(self) -> None:
        for watcher in tuple(self._watchers):
            watcher()
