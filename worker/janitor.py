"""The janitor: expired leases, due retries, lost tickets, ended retentions, leftovers. `python -m worker.janitor`

Any number may run; one at a time works, under a lock in Redis. The lock only saves work: every step is safe to
do twice, and everything a janitor does is visible in its log.
"""

from __future__ import annotations

import logging
import socket
import sys
import threading
import time
import uuid
from collections.abc import Callable, Sequence

from storage.artifacts import ArtifactStore
from storage.audits import AuditLog
from storage.certificates import check_certificates
from storage.connections import connect_redis, open_artifacts
from storage.consent_store import ConsentStore
from storage.errors import JobGone, JobNotFound, RecountOvertaken, StateConflict, StoreUnavailable
from storage.failpoints import configure as configure_failpoints
from storage.failpoints import failpoint
from storage.janitor_lock import JanitorLock
from storage.job_objects import folders_of
from storage.job_store import JobStore
from storage.journal import sweep_journal
from storage.layout import LayoutMismatch, agree_on_layout
from storage.local_artifacts import LocalArtifactStore
from storage.queue import TicketQueue, create_celery
from storage.reconcile import Reconciler
from storage.recounts import Difference, Drift
from storage.roster import Roster, WorkerRole
from storage.settings import SettingsError, describe, load_settings
from storage.state_guard import StateGuard
from storage.stored_recount import StoredRecount
from storage.telemetry import configure_process_logging
from storage.tickets import Tickets
from storage.upload_ledger import UploadLedger
from storage.voice_store import VoiceStore
from storage.webhook_queue import WebhookQueue
from storage.work_queues import WorkQueue
from worker.chores import TICK_S, Chore, run_chores
from worker.janitor_metrics import LEADER, swept, topped_up
from worker.leaving import leave_on_signals
from worker.metrics_server import parse_ports, serve_metrics
from worker.orphans import OrphanSweep
from worker.reporting import Reporting
from worker.settings import JanitorSettings
from worker.state_watch import StateWatch
from worker.upload_janitor import UploadJanitor
from worker.voice_janitor import VoiceJanitor
from worker.webhooks.janitor import HookJanitor

logger = logging.getLogger("worker.janitor")  # __name__ is __main__ here

LOCK_S = 10.0
STATE_INTERVAL_S = 5.0
AUDIT_INTERVAL_S = 60.0
RETENTION_INTERVAL_S = 5.0
LEFTOVERS_INTERVAL_S = 3600.0

LEAVE_WITHIN_S = 7.0
"""Whatever Redis does; who stops containers gives them ten seconds."""

BATCH = 200
PATIENCE_AFTER_OUTAGE_S = 5.0
"""Two rounds of the workers' lease keepers."""

TEMPORARY_AGE_S = 3600.0


class Janitor:
    """The chores, each callable on its own."""

    def __init__(
        self,
        jobs: JobStore,
        audits: AuditLog,
        stored: StoredRecount,
        artifacts: ArtifactStore,
        tickets: TicketQueue,
        ticket_cap: int,
    ) -> None:
        self._jobs = jobs
        self._audits = audits
        self._stored = stored
        self._artifacts = artifacts
        self._orphans = OrphanSweep(jobs, artifacts)
        self._tickets = tickets
        self._ticket_cap = ticket_cap
        self._patient_until = 0.0
        self._stored_drift: tuple[Difference, ...] = ()

    def sweep(self) -> None:
        """What the clock decides: leases, retries, deadlines. What becomes ready gets its ticket from `top_up`.

        After Redis was away, every lease may look expired although its worker lives and could not say so; the
        workers get a few seconds to extend them first (`redis_was_away`).
        """
        if time.monotonic() < self._patient_until:
            return
        report = self._jobs.reap(BATCH)
        swept(report)
        if report.leases_expired or report.retries_due or report.jobs_expired or report.jobs_woken:
            logger.info(
                "swept",
                extra={
                    "leases_expired": report.leases_expired,
                    "retries_due": report.retries_due,
                    "jobs_expired": report.jobs_expired,
                    "jobs_woken": report.jobs_woken,
                },
            )

    def redis_was_away(self) -> None:
        """Be patient with leases for a while."""
        self._patient_until = time.monotonic() + PATIENCE_AFTER_OUTAGE_S

    def top_up(self) -> Tickets:
        """Replace lost tickets: as many as there are ready items (up to the cap) should wait in the broker.

        A queue without ready items has no entry and is not asked about: an idle system costs the broker nothing.
        """
        missing: dict[WorkQueue, int] = {}
        for queue, ready in self._jobs.ready_counts().items():
            number = min(ready, self._ticket_cap) - self._tickets.waiting(queue)
            if number > 0:
                missing[queue] = number
                topped_up(queue, number)
                logger.info("tickets topped up", extra={"queue": queue, "tickets": number})
        tickets = Tickets(missing)
        self._tickets.send(tickets)
        return tickets

    def audit(self) -> None:
        """Compare the counters with a recount; a difference is a bug and is reported, never repaired in silence."""
        try:
            drift = self._jobs.recount()
        except RecountOvertaken as error:
            logger.info("no recount", extra={"error": str(error)})
            return
        self._audits.note(Drift(drift.differences + self._stored_drift))
        _report_drift(drift.differences)

    def audit_stored(self) -> None:
        """Compare what is counted against tenants' bytes with their records: all of them, so not every minute."""
        try:
            drift = self._stored.recount()
        except RecountOvertaken as error:
            logger.info("no recount of bytes", extra={"error": str(error)})
            return
        self._stored_drift = drift.differences
        _report_drift(drift.differences)

    def end_retentions(self) -> None:
        """Delete the jobs whose time is over: objects first, so that no object outlives its record unseen."""
        for tenant, job in self._jobs.expired_retentions(BATCH):
            removed = sum(self._artifacts.delete_prefix(each) for each in folders_of(self._jobs, tenant, job))
            failpoint("purge.after_objects")
            try:
                self._jobs.delete(tenant, job)
            except (JobNotFound, JobGone, StateConflict) as error:
                logger.warning("retention not ended", extra={"job_id": job, "error": str(error)})
                continue
            logger.info("retention over", extra={"job_id": job, "objects": removed})

    def sweep_temporary(self) -> None:
        """Unfinished files of writers that died. S3 has its own rule for unfinished uploads."""
        if isinstance(self._artifacts, LocalArtifactStore):
            removed = self._artifacts.sweep_temporary(TEMPORARY_AGE_S)
            if removed:
                logger.info("temporary files removed", extra={"files": removed})

    def sweep_journal(self) -> None:
        """What was accepted longer ago than any backup is old."""
        removed = sweep_journal(self._artifacts)
        if removed:
            logger.info("old journal removed", extra={"objects": removed})

    def sweep_orphans(self) -> None:
        """Objects of jobs that are not there any more."""
        self._orphans.run()


def _report_drift(differences: Sequence[Difference]) -> None:
    for difference in differences:
        logger.error(
            "counter drift",
            extra={"counter": difference.name, "expected": difference.expected, "actual": difference.actual},
        )


def chores_of(
    janitor: Janitor, state: StateWatch, voices: VoiceJanitor, files: UploadJanitor, hooks: HookJanitor
) -> Sequence[Chore]:
    """What is to be done, and how often; first what the others rest on."""
    return (
        # What is missing comes back before anything is swept or given out.
        Chore(STATE_INTERVAL_S, state.watch_state),
        Chore(TICK_S, janitor.sweep),
        Chore(TICK_S, janitor.top_up),
        Chore(TICK_S, hooks.sweep_hooks),
        Chore(RETENTION_INTERVAL_S, janitor.end_retentions),
        Chore(AUDIT_INTERVAL_S, janitor.audit),
        Chore(LEFTOVERS_INTERVAL_S, janitor.audit_stored),
        Chore(LEFTOVERS_INTERVAL_S, janitor.sweep_temporary),
        Chore(LEFTOVERS_INTERVAL_S, files.sweep_uploads),
        Chore(LEFTOVERS_INTERVAL_S, janitor.sweep_journal),
        Chore(LEFTOVERS_INTERVAL_S, janitor.sweep_orphans),
        Chore(RETENTION_INTERVAL_S, voices.delete_discarded),
        Chore(LEFTOVERS_INTERVAL_S, voices.sweep_recordings),
        Chore(LEFTOVERS_INTERVAL_S, voices.sweep_caches),
        Chore(LEFTOVERS_INTERVAL_S, voices.report_consents),
    )


def holds_lock(renew: Callable[[], bool], janitor: Janitor) -> bool:
    """Whether this janitor is the one that works. Not while Redis cannot be asked, and then leases get time."""
    try:
        is_ours = renew()
    except StoreUnavailable as error:
        logger.warning("no lock", extra={"error": str(error)})
        janitor.redis_was_away()
        is_ours = False
    LEADER.set(is_ours)
    return is_ours


def _agree_on_layout(settings: JanitorSettings) -> None:
    """A janitor may come before Redis does; the workers, which may not, ask the same."""
    try:
        with connect_redis(settings) as redis:
            agree_on_layout(redis, settings.key_prefix)
    except LayoutMismatch as error:
        sys.exit(f"the janitor cannot start: {error}")
    except StoreUnavailable as error:
        logger.warning("the state's layout is not known yet", extra={"error": str(error)})


def main() -> None:
    try:
        settings = load_settings(JanitorSettings)
        configure_failpoints(settings.failpoint)
        check_certificates(settings)
        metrics = serve_metrics(settings.metrics_host, parse_ports(settings.metrics_port))
    except SettingsError as error:
        sys.exit(str(error))
    configure_process_logging(settings, role="janitor")
    logger.info("settings", extra={"values": " ".join(describe(settings))})
    stop = threading.Event()
    leave_on_signals(stop, LEAVE_WITHIN_S)
    tickets = TicketQueue(create_celery(settings, "rhapsode-janitor"))
    _agree_on_layout(settings)
    with connect_redis(settings) as redis:
        jobs = JobStore(redis, settings.key_prefix, max_attempts=settings.max_attempts)
        lock = JanitorLock(redis, settings.key_prefix, LOCK_S)
        name = f"{socket.gethostname()}-janitor-{uuid.uuid4().hex[:8]}"
        reporting = Reporting(Roster(redis, settings.key_prefix), name, WorkerRole.JANITOR)
        reporting.begin()
        logger.info("janitor ready")
        artifacts = open_artifacts(settings)
        consents = ConsentStore(redis, settings.key_prefix)
        voices = VoiceJanitor(VoiceStore(redis, settings.key_prefix), consents, artifacts)
        hooks = HookJanitor(WebhookQueue(redis, settings.key_prefix), tickets, settings.ticket_cap)
        stored = StoredRecount(redis, settings.key_prefix)
        janitor = Janitor(jobs, AuditLog(redis, settings.key_prefix), stored, artifacts, tickets, settings.ticket_cap)
        files = UploadJanitor(UploadLedger(redis, settings.key_prefix), artifacts)
        guard = StateGuard(redis, artifacts, settings.key_prefix)
        state = StateWatch(guard, Reconciler(redis, artifacts, settings.key_prefix), tickets)
        run_chores(chores_of(janitor, state, voices, files, hooks), lambda: holds_lock(lock.renew, janitor), stop)
        reporting.close()
        try:
            lock.release()
        except StoreUnavailable as error:
            logger.warning("lock left to expire", extra={"error": str(error)})
    tickets.close()
    if metrics is not None:
        metrics.close()


if __name__ == "__main__":
    main()
