"""What falls due by itself: leases that ended, retries, deadlines, retentions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from storage.ids import JobId, TenantId
from storage.job_store.calls import JobCalls, tickets_of
from storage.jobs.tickets import Tickets
from storage.jobs.work_items import WorkerIdentity

RECALL_STEP = 20
"""Jobs of a batch that one call cancels: a few milliseconds of the server's time."""


@dataclass(frozen=True, slots=True)
class ReapReport:
    """One sweep of the janitor. jobs_woken: that may start since now."""

    leases_expired: int
    retries_due: int
    jobs_expired: int
    jobs_woken: int
    tickets: Tickets


@dataclass(frozen=True, slots=True)
class RecallStep:
    """has_more: whether jobs of the batch are left that were not cancelled yet."""

    has_more: bool
    tickets: Tickets


class Sweeps(JobCalls):
    """The part of the job store that the janitor sweeps with."""

    def release_worker(self, worker: WorkerIdentity) -> Tickets:
        """Every lease that another boot_id of this worker holds goes back at once."""
        reply = self._functions.call(
            "release_worker", worker=worker.name, boot_id=worker.boot_id, max_attempts=self._max_attempts
        )
        return tickets_of(reply)

    def reap(self, limit: int = 200) -> ReapReport:
        """At most `limit` of each: expired leases go back, due retries become ready, overdue jobs end, and jobs whose
        time has come stand in line.
        """
        reply = self._functions.call("reap", limit=limit, max_attempts=self._max_attempts)
        leases, retries, jobs, woken = (reply.number(name) for name in ("leases", "retries", "jobs", "woken"))
        return ReapReport(leases, retries, jobs, woken, tickets_of(reply))

    def batches_to_recall(self) -> list[JobId]:
        """Cancelled ones whose jobs are not all cancelled yet."""
        return cast("list[JobId]", self._redis.hkeys(self._keys.single("recalled")))

    def recall(self, batch: JobId, limit: int = RECALL_STEP) -> RecallStep:
        """Cancel the next jobs of a cancelled batch. By any process, and however often: each of them is once."""
        reply = self._functions.call("recall", batch=batch, limit=limit)
        return RecallStep(reply.flag("has_more"), tickets_of(reply))

    def expired_retentions(self, limit: int = 100) -> list[tuple[TenantId, JobId]]:
        """Ended jobs whose retention is over, oldest first; their objects go first, then `delete`."""
        reply = self._functions.call("retentions", limit=limit)
        pairs = (entry.rpartition("|") for entry in reply.texts("entries"))
        return [(TenantId(tenant), JobId(job)) for tenant, _, job in pairs]
