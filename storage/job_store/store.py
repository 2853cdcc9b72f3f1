"""Every job and work item, in Redis: one method is one function, and the only way a job's state changes.

A call that ends in `StoreUnavailable` may have taken effect. Each is idempotent for its own arguments, so the
caller repeats it and is answered as if the first answer had arrived.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import cast

from storage.database.functions import Reply
from storage.errors import StateConflict
from storage.ids import JobId, TenantId, WorkQueue
from storage.job_store.calls import JobCalls, Transitioned, tickets_of, transitioned
from storage.job_store.counter_audit import CounterAudits
from storage.job_store.leases import WorkLedger
from storage.job_store.lists import JobLists
from storage.job_store.submit import JobSubmits
from storage.jobs.tickets import Tickets
from storage.jobs.work_items import WorkerIdentity
from storage.segments.edits import SegmentEdit, decode_edit
from storage.segments.results import SegmentResult, decode_segment_result

TOMBSTONE_TTL_S = 30 * 24 * 3600

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


class Sweeps(JobCalls):
    """The part of the job store that the janitor sweeps with: leases that ended, retries, deadlines, retentions."""

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

    def recall(self, batch: JobId, limit: int = RECALL_STEP) -> tuple[bool, Tickets]:
        """Cancel the next jobs of a cancelled batch; whether some are left. By any process, and however often: each of
        them is cancelled once.
        """
        reply = self._functions.call("recall", batch=batch, limit=limit)
        return reply.flag("has_more"), tickets_of(reply)

    def expired_retentions(self, limit: int = 100) -> list[tuple[TenantId, JobId]]:
        """Ended jobs whose retention is over, oldest first; their objects go first, then `delete`."""
        reply = self._functions.call("retentions", limit=limit)
        pairs = (entry.rpartition("|") for entry in reply.texts("entries"))
        return [(TenantId(tenant), JobId(job)) for tenant, _, job in pairs]


class JobStore(JobSubmits, WorkLedger, JobLists, CounterAudits, Sweeps):
    """All parts of the job store as one, and a job's other reads and its moves."""

    def cancel(self, tenant: TenantId, job_id: JobId) -> Transitioned:
        """`cancelled` at once, or `cancelling` until the last lease is gone. Raises `StateConflict` once ended."""
        return self._transition("cancel", tenant, job_id, "cancelled")

    def pause(self, tenant: TenantId, job_id: JobId) -> Transitioned:
        """No item of the job is given out any more; what runs is finished and kept."""
        return self._transition("pause", tenant, job_id, "paused")

    def resume(self, tenant: TenantId, job_id: JobId) -> Transitioned:
        return self._transition("resume", tenant, job_id, "resumed")

    def delete(self, tenant: TenantId, job_id: JobId) -> None:
        """Forget a job that has ended; its id answers `JobGone` from then on. Repeating it is no error."""
        reply = self._functions.call("delete", job=job_id, tenant=tenant, tombstone_ttl_s=TOMBSTONE_TTL_S)
        self._check_transition(reply, tenant, job_id, "deleted")

    def segment_results(self, tenant: TenantId, job_id: JobId) -> list[SegmentResult]:
        """The finished segments in index order. Raises `JobNotFound` or `JobGone`."""
        self._check_owner(tenant, job_id)
        values = cast("dict[str, str]", self._redis.hgetall(self._keys.of("results", job_id)))
        done = (
            decode_segment_result(item, value)
            for item, value in values.items()
            if item.isdecimal() and value.startswith("D")
        )
        return sorted(done, key=lambda result: result.index)

    def segment_edits(self, tenant: TenantId, job_id: JobId) -> dict[int, SegmentEdit]:
        """What was changed of segments over the plan, by index. Raises `JobNotFound` or `JobGone`."""
        self._check_owner(tenant, job_id)
        values = cast("dict[str, str]", self._redis.hgetall(self._keys.of("edits", job_id)))
        return {int(item): decode_edit(text) for item, text in values.items() if item.isdecimal()}

    def pace(self, queue: WorkQueue) -> float | None:
        """Seconds of audio that the queue's workers speak in a second, as last measured; None before the first."""
        fields = [f"{queue}:audio_ms", f"{queue}:busy_ms"]
        audio_ms, busy_ms = cast("list[str | None]", self._redis.hmget(self._keys.single("throughput"), fields))
        return float(audio_ms) / max(1.0, float(busy_ms)) if audio_ms and busy_ms else None

    def ready_counts(self) -> Counter[WorkQueue]:
        """Items that may be claimed now, by queue."""
        counts = cast("dict[str, str]", self._redis.hgetall(self._keys.single("counters")))
        return Counter({WorkQueue(queue): int(count) for queue, count in counts.items()})

    def wanted_tickets(self) -> Counter[WorkQueue]:
        """How many should be on their way, by queue: one for each item; one where workers claim several at a time."""
        counts = self.ready_counts()
        awake = {queue for queue in counts if self._redis.exists(self._keys.of("awake", queue))}
        return Counter({queue: 1 if queue in awake else ready for queue, ready in counts.items()})

    def _check_owner(self, tenant: TenantId, job_id: JobId) -> None:
        if self._redis.hget(self._keys.of("job", job_id), "tenant") != tenant:
            self._raise_missing(tenant, job_id)

    def _transition(self, function: str, tenant: TenantId, job_id: JobId, action: str) -> Transitioned:
        reply = self._functions.call(function, job=job_id, tenant=tenant)
        self._check_transition(reply, tenant, job_id, action)
        return transitioned(reply)

    def _check_transition(self, reply: Reply, tenant: TenantId, job_id: JobId, action: str) -> None:
        if reply.status == "missing":
            self._raise_missing(tenant, job_id)
        if reply.status == "conflict":
            raise StateConflict(reply.text("state"), action)
