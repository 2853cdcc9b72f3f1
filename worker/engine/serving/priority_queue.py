"""Who is next among those that somebody waits for and those that can wait. Pure: knows no threads and no clock."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Generic, TypeVar

from worker.engine.interface import Urgency

MOST_OVERTAKINGS = 4
"""As the job queue, which gives every fifth of its claims to bulk: so neither piles up what the other keeps waiting."""

T = TypeVar("T")


class ClassWeights:
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


class _Line(Generic[T]):
    """Those of one urgency in the order of arrival, openings first; but one of the others after four of these."""

    def __init__(self) -> None:
        self._openings: deque[T] = deque()
        self._others: deque[T] = deque()
        self._overtakings = 0

    def __len__(self) -> int:
        return len(self._openings) + len(self._others)

    def __iter__(self) -> Iterator[T]:
        return chain(self._openings, self._others)

    def part(self, *, is_opening: bool) -> deque[T]:
        return self._openings if is_opening else self._others

    def first(self) -> T:
        return self._next()[0]

    def pop(self) -> T:
        part = self._next()
        overtakes = part is self._openings and bool(self._others)
        self._overtakings = self._overtakings + 1 if overtakes else 0
        return part.popleft()

    def take(self, matches: Callable[[T], bool]) -> T | None:
        for part in (self._openings, self._others):
            for place, item in enumerate(part):
                if matches(item):
                    del part[place]
                    return item
        return None

    def clear(self) -> None:
        self._openings.clear()
        self._others.clear()

    def _next(self) -> deque[T]:
        has_turn = self._openings and (not self._others or self._overtakings < MOST_OVERTAKINGS)
        return self._openings if has_turn else self._others


class PriorityQueue(Generic[T]):
    """Two lines, each in the order of arrival but for its openings, that take turns."""

    def __init__(self) -> None:
        self._lines: dict[Urgency, _Line[T]] = {urgency: _Line() for urgency in Urgency}
        self._turns = ClassWeights()

    def __len__(self) -> int:
        return sum(len(line) for line in self._lines.values())

    def add(self, item: T, urgency: Urgency, *, is_opening: bool = False) -> None:
        self._lines[urgency].part(is_opening=is_opening).append(item)

    def put_back(self, item: T, urgency: Urgency, *, is_opening: bool = False) -> None:
        """In front of its like: it has begun, and goes on unless others have their turn."""
        self._lines[urgency].part(is_opening=is_opening).appendleft(item)

    def peek(self) -> T:
        """Who is next; there is somebody."""
        return self._lines[self._next()].first()

    def pop(self) -> T:
        """The one that `peek` shows, who waits no more."""
        urgency = self._next()
        item = self._lines[urgency].pop()
        self._turns.taken(urgency, bulk_waits=bool(self._lines[Urgency.BULK]))
        return item

    def peek_interactive(self) -> T | None:
        """The first of those somebody waits for, whose turn it need not be."""
        line = self._lines[Urgency.INTERACTIVE]
        return line.first() if line else None

    def pop_interactive(self) -> T:
        """The one that `peek_interactive` shows. It goes where bulk may not, so it overtakes nobody."""
        return self._lines[Urgency.INTERACTIVE].pop()

    def take(self, matches: Callable[[T], bool]) -> T | None:
        """The first one that matches, out of turn; it waits no more."""
        for line in self._lines.values():
            if (found := line.take(matches)) is not None:
                return found
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
