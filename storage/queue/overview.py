"""What waits in which queue, for how long and for whom: one question to Redis, for operators, metrics and scaling."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import TypeAdapter

from rhapsode.contract.jobs.states import JobClass
from storage.database.functions import FunctionCalls
from storage.recovery.audit_log import AuditRecord, decode_audit


@dataclass(frozen=True, slots=True)
class ClassOverview:
    """backlog_ms: expected audio that has not been spoken. jobs, tenants: with items that could be claimed now.

    oldest_wait_ms: the longest that such a job has gone without a claim; None if there is none. wait_p50_ms,
    wait_p95_ms: percentiles of these waits.
    """

    backlog_ms: int
    jobs: int
    tenants: int
    oldest_wait_ms: int | None = None
    wait_p50_ms: int | None = None
    wait_p95_ms: int | None = None


@dataclass(frozen=True, slots=True)
class QueueOverview:
    """ready_items: could be claimed now. pace: audio seconds spoken in a second, 0 before the first segment.

    batch_pace: the pace that a job's ETA goes by. 0 until segments were spoken in parallel.
    """

    name: str
    ready_items: int
    slots: int
    pace: float
    batch_pace: float
    classes: Mapping[JobClass, ClassOverview]

    @property
    def backlog_ms(self) -> int:
        return sum(each.backlog_ms for each in self.classes.values())

    @property
    def drain_s(self) -> float | None:
        """Seconds until the backlog is spoken; None if that cannot be known. As `QueuePosition.seconds_for`."""
        if not self.backlog_ms:
            return 0.0
        return self.backlog_ms / 1000 / self.batch_pace if self.batch_pace > 0 and self.slots else None


@dataclass(frozen=True, slots=True)
class TenantOverview:
    """Held by the unfinished jobs of one that has items to be claimed. backlog_ms: expected audio of these jobs."""

    jobs: int
    backlog_ms: int


@dataclass(frozen=True, slots=True)
class Overview:
    """dead_letters: in the list of what was given up. audited: the last complete audit; None if none is known.
    claims_held: why nothing may be claimed; None if claims are open. scheduled_jobs: of the unfinished ones, those
    that wait for their time.
    """

    queues: tuple[QueueOverview, ...]
    tenants: Mapping[str, TenantOverview]
    leases: int
    retries_waiting: int
    unfinished_jobs: int
    scheduled_jobs: int
    dead_letters: int
    audited: AuditRecord | None
    claims_held: str | None = None


_OVERVIEW = TypeAdapter(Overview)


class QueueOverviews(FunctionCalls):
    """Safe to share between threads, as the client is. `clock` as of `JobStore`."""

    def read(self) -> Overview:
        """Raises `StoreUnavailable`."""
        seen = self._functions.call("overview").table("overview")
        audited = seen.get("audited")
        return _OVERVIEW.validate_python({**seen, "audited": decode_audit(str(audited)) if audited else None})
