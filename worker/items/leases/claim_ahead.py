"""How much a worker claims before its engine has room for it.

What is claimed is served: it stands in the engine's own queue, and no later item can go before it, however fair
the queue is. So a worker takes little more than its slots hold. What has left the engine's slots does not count: its
audio is being decoded, or is on its way to the store.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from storage.jobs.work_items import Lease

AHEAD_SHARE = 16
"""One claim ahead for so many slots. It waits for a sixteenth of a segment's time, many times the duration of a claim.
With fewer slots, the next claim takes milliseconds of the seconds that a segment takes.
"""

LOOK_AGAIN_S = 0.5
"""Between looks at whether anything shall be claimed at all."""


@dataclass(slots=True)
class ClaimAhead:
    """Places for what is claimed and not yet spoken. Any thread may call any method.

    Places are taken before a claim and belong to the claimed leases. They are free again after the engine's first
    answer. A retry uses the slot that it just left.

    decoding: reads how many of them wait for their audio behind the slots; up to half a second old.
    """

    slots: int
    decoding: Callable[[], int] = lambda: 0
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _claiming: int = 0
    _unspoken: set[Lease] = field(default_factory=set)

    @property
    def most(self) -> int:
        return self.slots + self.slots // AHEAD_SHARE + self.decoding()

    @property
    def taken(self) -> int:
        return self._claiming + len(self._unspoken)

    def take(self, most: int, claims: Callable[[], bool], patience_s: float) -> int:
        """Wait for a place and take it, and what else is free of `most`; 0 if nothing shall be claimed any more, or
        `patience_s` is over.
        """
        until_s = time.monotonic() + patience_s
        with self._changed:
            while claims():
                if self.taken < self.most:
                    number = min(self.most - self.taken, most)
                    self._claiming += number
                    return number
                left_s = until_s - time.monotonic()
                if left_s <= 0:
                    return 0
                self._changed.wait(min(left_s, LOOK_AGAIN_S))
        return 0

    def claimed(self, number: int, leases: Collection[Lease]) -> None:
        """What became of so many places: these leases have theirs, and the others are free."""
        with self._changed:
            self._claiming -= number
            self._unspoken.update(leases)
            self._changed.notify()

    def give_back(self, lease: Lease) -> None:
        """The lease needs its place no more. It may say so several times."""
        with self._changed:
            if lease in self._unspoken:
                self._unspoken.remove(lease)
                self._changed.notify()
