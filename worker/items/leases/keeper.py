"""The leases this process holds, extended by one thread until their work is done or no longer wanted."""

from __future__ import annotations

import enum
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

from storage.job_store.store import JobStore
from storage.jobs.work_items import Lease, LeaseStatus
from worker.process.periodic import Periodic

PATIENCE_LEASES = 4
"""Longer than a lease: after an outage of Redis itself the lease may still be ours, and the work is done already."""

MAX_INTERVAL_S = 2.0
"""A cancelled job's work stops within this time, however long the lease; one script call serves all leases."""


class DropReason(enum.Enum):
    LOST = "lost"
    """The lease expired and the item is another worker's."""

    ABORTED = "aborted"
    """The job was cancelled, failed or expired."""

    SHUTDOWN = "shutdown"
    """This process is leaving."""


class WorkDropped(Exception):
    """The work under way is not wanted any more."""

    def __init__(self, reason: DropReason) -> None:
        super().__init__(f"the work was dropped: {reason.value}")
        self.reason = reason


class HeldLease:
    """One lease and what became of it. Any thread may drop it; its worker notices at `check` or by a callback."""

    def __init__(self, lease: Lease, lease_s: float) -> None:
        self.lease = lease
        self.lease_s = lease_s
        self._lock = threading.Lock()
        self._dropped: DropReason | None = None
        self._on_drop: Callable[[], None] | None = None

    @property
    def dropped(self) -> DropReason | None:
        return self._dropped

    @property
    def patience_s(self) -> float:
        """How long its work waits for a store that does not answer."""
        return PATIENCE_LEASES * self.lease_s

    def check(self) -> None:
        """Raise `WorkDropped` if there is no use in going on."""
        if self._dropped is not None:
            raise WorkDropped(self._dropped)

    def on_drop(self, callback: Callable[[], None]) -> None:
        """Call `callback` once when the lease is dropped, at once if it is already; it must not block."""
        with self._lock:
            self._on_drop = callback
            is_late = self._dropped is not None
        if is_late:
            callback()

    def drop(self, reason: DropReason) -> None:
        """The first reason counts."""
        with self._lock:
            if self._dropped is not None:
                return
            self._dropped = reason
            callback = self._on_drop
        if callback is not None:
            callback()


class LeaseKeeper:
    """Owns the extending thread. `start` before the first `hold`, `close` after the last."""

    def __init__(self, jobs: JobStore, lease_s: float) -> None:
        self._jobs = jobs
        self._lease_s = lease_s
        self._held: dict[Lease, HeldLease] = {}
        self._lock = threading.Lock()
        # A round that finds Redis silent changes nothing: the commit decides whether the lease outlived the silence.
        self._rounds = Periodic("lease-keeper", min(lease_s / 3, MAX_INTERVAL_S), self.extend_now)

    def start(self) -> None:
        self._rounds.start()

    def close(self) -> None:
        self._rounds.close()

    @contextmanager
    def hold(self, lease: Lease) -> Generator[HeldLease]:
        """Keep the lease alive for the time of the block."""
        held = HeldLease(lease, self._lease_s)
        with self._lock:
            self._held[lease] = held
        try:
            yield held
        finally:
            with self._lock:
                del self._held[lease]

    @property
    def num_held(self) -> int:
        return len(self._held)

    def drop_all(self, reason: DropReason) -> None:
        for held in self._snapshot():
            held.drop(reason)

    def extend_now(self) -> None:
        """One round: every held lease gets a new expiry or is dropped."""
        held = [each for each in self._snapshot() if each.dropped is None]
        if not held:
            return
        statuses = self._jobs.extend([each.lease for each in held], self._lease_s)
        for each, status in zip(held, statuses, strict=True):
            match status:
                case LeaseStatus.HELD:
                    pass
                case LeaseStatus.LOST:
                    each.drop(DropReason.LOST)
                case LeaseStatus.ABORTED:
                    each.drop(DropReason.ABORTED)

    def _snapshot(self) -> list[HeldLease]:
        with self._lock:
            return list(self._held.values())
