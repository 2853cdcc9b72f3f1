"""How many items became ready, and where. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from storage.ids import WorkQueue


@dataclass(frozen=True, slots=True)
class Tickets:
    """How many items a script made ready, by queue; as many tickets should be sent. Queues with none are left out."""

    by_queue: Mapping[WorkQueue, int] = field(default_factory=dict[WorkQueue, int])

    @property
    def total(self) -> int:
        return sum(self.by_queue.values())

    def without_one(self, queue: WorkQueue) -> Tickets:
        """One fewer of this queue, which has some."""
        return Tickets({each: count - (each == queue) for each, count in self.by_queue.items()})

    def __add__(self, other: Tickets) -> Tickets:
        both = Counter(self.by_queue)
        both.update(other.by_queue)
        return Tickets(dict(both))
