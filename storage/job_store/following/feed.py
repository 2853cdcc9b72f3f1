"""What a process knows of one job's events, shared by all its followers of that job. Pure.

The log in Redis is the truth, and a feed holds its newest end. Redis sends a feed every event after it has confirmed
the subscription (`begin`), until the connection is lost (`interrupt`). A reader of the log since that moment can
continue with the feed and misses nothing.
"""

from __future__ import annotations

from collections import deque
from typing import Protocol

from storage.ids import JobId
from storage.job_store.following.event import LoggedEvent, order_of

KEPT = 32
"""Events; a follower who is farther behind reads the log again."""


class Woken(Protocol):
    def wake(self) -> None: ...


class JobFeed:
    """followers: woken when anything has changed."""

    __slots__ = ("_forgotten", "_kept", "changes", "followers", "is_told", "job_id", "round")

    def __init__(self, job_id: JobId) -> None:
        self.job_id = job_id
        self.followers: set[Woken] = set()
        self.changes = 0
        """Grows whenever there is something new to look at."""
        self.is_told = False
        """Whether Redis tells of every event now."""
        self.round = 0
        """Which of the times it is that it does."""
        self._kept: deque[LoggedEvent] | None = None
        self._forgotten = (0, 0)

    @property
    def newest(self) -> LoggedEvent | None:
        """The last one delivered in this round."""
        return self._kept[-1] if self._kept else None

    def begin(self) -> None:
        """From now on every event is delivered."""
        self.round += 1
        self.is_told = True
        self._change()

    def interrupt(self) -> None:
        self.is_told = False
        self._kept = None
        self._forgotten = (0, 0)

    def tell(self, event: LoggedEvent) -> None:
        """In the log's order."""
        if not self.is_told:
            return
        if self._kept is None:
            self._kept = deque()
        self._kept.append(event)
        if len(self._kept) > KEPT:
            self._forgotten = order_of(self._kept.popleft().id)
        self._change()

    def reaches_back_to(self, after: str) -> bool:
        """Whether no event behind `after` that was delivered in this round is forgotten."""
        return order_of(after) >= self._forgotten

    def behind(self, after: str) -> list[LoggedEvent]:
        limit = order_of(after)
        return [event for event in self._kept or () if order_of(event.id) > limit]

    def wake(self) -> None:
        for follower in tuple(self.followers):
            follower.wake()

    def _change(self) -> None:
        self.changes += 1
        self.wake()
