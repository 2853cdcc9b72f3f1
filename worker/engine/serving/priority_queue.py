"""Who is next among those that somebody waits for and those that can wait. Pure: knows no threads and no clock."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from worker.engine.interface import Urgency

MOST_OVERTAKINGS = 4
"""As the job queue, which gives every fifth of its claims to bulk: so neither piles up what the other keeps waiting."""

T = TypeVar("T")


class Turns:
    """Interactive first; but where bulk waits as well, one of bulk after four that have overtaken it."""

    def __init__(self) -> None:
        self._overtakings = 0

    def next(self, *, interactive_waits: bool, bulk_waits: bool) -> Urgency:
        """Of those who wait. Somebody does."""
        if not bulk_waits or (interactive_waits and self._overtakings < MOST_OVERTAKINGS):
            return Urgency.INTERACTIVE
        return Urgency.BULK

    def taken(self, urgency: Urgency, *, bulk_waits: bool) -> None:
        """One that `next` named has gone in; `bulk_waits`: whether somebody of bulk stays behind."""
        self._overtakings = self._overtakings + 1 if urgency is Urgency.INTERACTIVE and bulk_waits else 0


class WaitingLine(Generic[T]):
    """Two lines, each in the order of arrival, that take turns."""

    def __init__(self) -> None:
        self._lines: dict[Urgency, deque[T]] = {urgency: deque() for urgency in Urgency}
        self._turns = Turns()

    def __len__(self) -> int:
        return sum(len(line) for line in self._lines.values())

    def add(self, item: T, urgency: Urgency) -> None:
        self._lines[urgency].append(item)

    def put_back(self, item: T, urgency: Urgency) -> None:
        """In front of its own line: it has begun, and goes on unless the other line has its turn."""
        self._lines[urgency].appendleft(item)

    def peek(self) -> T:
        """Who is next; there is somebody."""
        return self._lines[self._next()][0]

    def pop(self) -> T:
        """The one that `peek` shows, who waits no more."""
        urgency = self._next()
        item = self._lines[urgency].popleft()
        self._turns.taken(urgency, bulk_waits=bool(self._lines[Urgency.BULK]))
        return item

    def peek_interactive(self) -> T | None:
        """The first of those somebody waits for, whose turn it need not be."""
        line = self._lines[Urgency.INTERACTIVE]
        return line[0] if line else None

    def pop_interactive(self) -> T:
        """The one that `peek_interactive` shows. It goes where bulk may not, so it overtakes nobody."""
        return self._lines[Urgency.INTERACTIVE].popleft()

    def take(self, matches: Callable[[T], bool]) -> T | None:
        """The first one that matches, out of turn; it waits no more."""
        for line in self._lines.values():
            for item in line:
                if matches(item):
                    line.remove(item)
                    return item
        return None

    def drain(self) -> list[T]:
        """All of them; nobody waits any more."""
        everybody = [item for line in self._lines.values() for item in line]
        for line in self._lines.values():
            line.clear()
        return everybody

    def _next(self) -> Urgency:
        return self._turns.next(
            interactive_waits=bool(self._lines[Urgency.INTERACTIVE]), bulk_waits=bool(self._lines[Urgency.BULK])
        )
