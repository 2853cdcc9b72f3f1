"""What the janitor did, as metrics."""

from __future__ import annotations

from storage.ids import WorkQueue
from storage.job_store.sweeps import ReapReport
from storage.runtime.observability.metrics import counter, gauge

LEADER = gauge("rhapsode_janitor_leader")
_SWEPT = counter("rhapsode_janitor_swept")
_TOPPED_UP = counter("rhapsode_tickets_topped_up")
_FAILURES = counter("rhapsode_janitor_chore_failures")


def swept(report: ReapReport) -> None:
    _SWEPT.labels("lease_expired").inc(report.leases_expired)
    _SWEPT.labels("retry_due").inc(report.retries_due)
    _SWEPT.labels("job_expired").inc(report.jobs_expired)


def topped_up(queue: WorkQueue, tickets: int) -> None:
    _TOPPED_UP.labels(queue).inc(tickets)


def chore_failed(chore: str) -> None:
    _FAILURES.labels(chore).inc()
