"""Order of admission for each lane. Pure: no threads, no clock.

Live requests go first; they have separate slots. Then interactive requests go before bulk, but bulk has one turn in
five while both wait. Within an urgency, openings of jobs go before other requests by the same rule. Openings go in
order of arrival, the others by rank.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from worker.engine.interface import Urgency
from worker.engine.profiles import AdmissionPolicy

MOST_OVERTAKINGS = 4
"""The same as in the job queue, which gives every fifth claim to bulk."""

T = TypeVar("T")


class Turns:
    """The first of two classes goes first. While both wait, the second has a turn after `most_overtakings` of the
    first: every fifth by default.
    """

    def __init__(self, most_overtakings: int = MOST_OVERTAKINGS) -> None:
        self._most_overtakings = most_overtakings
        self._overtakings = 0

    def is_of_first(self, *, first_waits: bool, second_waits: bool) -> bool:
        """Whether the first class has the turn. At least one class must wait."""
        return not second_waits or (first_waits and self._overtakings < self._most_overtakings)

    def taken(self, *, of_first: bool, second_waits: bool) -> None:
        """Record an admission. second_waits: whether one of the second class still waits."""
        self._overtakings = self._overtakings + 1 if of_first and second_waits else 0


@dataclass(slots=True, eq=False)
class _Entry(Generic[T]):
    """turn: number of admissions at its arrival."""

    item: T
    turn: int
    is_gone: bool = False


class _Ranked(Generic[T]):
    """The lowest rank first, then the oldest. After `most_admitted` admissions, the oldest goes before all."""

    def __init__(self, rank: Callable[[T], int], most_admitted: int) -> None:
        self._rank = rank
        self._most_admitted = most_admitted
        self._by_rank: list[tuple[int, int, _Entry[T]]] = []
        self._by_arrival: deque[_Entry[T]] = deque()
        self._front = self._back = 0
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[_Entry[T]]:
        return (entry for entry in self._by_arrival if not entry.is_gone)

    def append(self, entry: _Entry[T]) -> None:
        self._back += 1
        self._by_arrival.append(entry)
        self._rank_in(entry, self._back)

    def append_left(self, entry: _Entry[T]) -> None:
        self._front -= 1
        self._by_arrival.appendleft(entry)
        self._rank_in(entry, self._front)

    def first(self, num_admitted: int) -> _Entry[T]:
        while self._by_arrival[0].is_gone:
            self._by_arrival.popleft()
        while self._by_rank[0][2].is_gone:
            heapq.heappop(self._by_rank)
        oldest = self._by_arrival[0]
        return oldest if num_admitted - oldest.turn >= self._most_admitted else self._by_rank[0][2]

    def remove(self, entry: _Entry[T]) -> None:
        entry.is_gone = True
        self._length -= 1
        if not self._length:
            self._by_arrival.clear()
            self._by_rank.clear()

    def drain(self) -> list[T]:
        items = [entry.item for entry in self]
        self._by_arrival.clear()
        self._by_rank.clear()
        self._length = 0
        return items

    def _rank_in(self, entry: _Entry[T], place: int) -> None:
        heapq.heappush(self._by_rank, (self._rank(entry.item), place, entry))
        self._length += 1


class _Line(Generic[T]):
    """The requests of one urgency."""

    def __init__(self, others: _Ranked[T]) -> None:
        self._openings: _Ranked[T] = _Ranked(_alike, 0)
        self._others = others
        self._turns = Turns()

    def __len__(self) -> int:
        return len(self._openings) + len(self._others)

    def part(self, *, is_opening: bool) -> _Ranked[T]:
        return self._openings if is_opening else self._others

    def first(self, num_admitted: int) -> T:
        return self._next().first(num_admitted).item

    def pop(self, num_admitted: int) -> T:
        part = self._next()
        entry = part.first(num_admitted)
        part.remove(entry)
        self._turns.taken(of_first=part is self._openings, second_waits=bool(self._others))
        return entry.item

    def take(self, matches: Callable[[T], bool]) -> T | None:
        for part in (self._openings, self._others):
            for entry in part:
                if matches(entry.item):
                    part.remove(entry)
                    return entry.item
        return None

    def drain(self) -> list[T]:
        return [*self._openings.drain(), *self._others.drain()]

    def _next(self) -> _Ranked[T]:
        is_opening = self._turns.is_of_first(first_waits=bool(self._openings), second_waits=bool(self._others))
        return self.part(is_opening=is_opening)


def _alike(_: object) -> int:
    return 0


class AdmissionQueue(Generic[T]):
    """rank: among requests that open no job, the lowest goes first; by default, the order of arrival.

    most_admitted: after so many admissions a request goes before lower ranks, which bounds its wait.
    """

    def __init__(self, rank: Callable[[T], int] = _alike, most_admitted: int = 0) -> None:
        self._lines = {urgency: _Line(_Ranked(rank, most_admitted)) for urgency in Urgency}
        self._turns = Turns()
        self._num_admitted = 0

    def __len__(self) -> int:
        return sum(len(line) for line in self._lines.values())

    @property
    def has_interactive(self) -> bool:
        return bool(self._lines[Urgency.INTERACTIVE])

    def add(self, item: T, urgency: Urgency, *, is_opening: bool = False) -> None:
        self._lines[urgency].part(is_opening=is_opening).append(_Entry(item, self._num_admitted))

    def put_back(self, item: T, urgency: Urgency, *, is_opening: bool = False) -> None:
        """Add a started request before the others of its kind."""
        self._lines[urgency].part(is_opening=is_opening).append_left(_Entry(item, self._num_admitted))

    def peek(self) -> T:
        """The next one. The queue must not be empty."""
        return self._lines[self._next()].first(self._num_admitted)

    def pop(self) -> T:
        """Remove and return the one that `peek` returns."""
        urgency = self._next()
        item = self._pop_of(urgency)
        if urgency is Urgency.LIVE:
            return item
        is_interactive = urgency is Urgency.INTERACTIVE
        self._turns.taken(of_first=is_interactive, second_waits=bool(self._lines[Urgency.BULK]))
        return item

    def peek_interactive(self) -> T | None:
        """The first interactive one, out of turn."""
        return self._lines[Urgency.INTERACTIVE].first(self._num_admitted) if self.has_interactive else None

    def pop_interactive(self) -> T:
        """Remove the one that `peek_interactive` returns. It gets a slot that bulk cannot use, so no turn counts."""
        return self._pop_of(Urgency.INTERACTIVE)

    def take(self, matches: Callable[[T], bool]) -> T | None:
        """Remove and return the first match, out of turn."""
        for line in self._lines.values():
            if (found := line.take(matches)) is not None:
                return found
        return None

    def drain(self) -> list[T]:
        """Remove and return all."""
        return [item for line in self._lines.values() for item in line.drain()]

    def _next(self) -> Urgency:
        if self._lines[Urgency.LIVE]:
            return Urgency.LIVE
        is_interactive = self._turns.is_of_first(
            first_waits=self.has_interactive, second_waits=bool(self._lines[Urgency.BULK])
        )
        return Urgency.INTERACTIVE if is_interactive else Urgency.BULK

    def _pop_of(self, urgency: Urgency) -> T:
        item = self._lines[urgency].pop(self._num_admitted)
        self._num_admitted += 1
        return item


class AdmissionPace:
    """When requests join those that run: together, where a pass over prompts holds all others up."""

    def __init__(self, policy: AdmissionPolicy, running_per_arrival: int = 16) -> None:
        """running_per_arrival: for every so many that run, one arrival is waited for."""
        self._policy = policy
        self._running_per_arrival = running_per_arrival
        self._steps_waited = 0

    def is_time(self, possible: int, num_running: int, *, is_awaited: bool) -> bool:
        """Called once per step. possible: how many could join now. is_awaited: a listener or a live call
        waits for one of them."""
        if not possible:
            self._steps_waited = 0
            return False
        self._steps_waited += 1
        company = min(self._policy.least_together, num_running // self._running_per_arrival)
        if is_awaited or possible >= company or self._steps_waited > self._policy.patience_steps:
            self._steps_waited = 0
            return True
        return False
