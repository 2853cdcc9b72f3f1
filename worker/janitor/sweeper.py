"""The janitor: expired leases, due retries, lost tickets, ended retentions, leftovers. `python -m worker.janitor`

Any number may run; one at a time works, under a lock in Redis. The lock only saves work: every step is safe to
do twice, and everything a janitor does is visible in its log.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from storage.errors import AuditOvertaken, JobGone, JobNotFound, StateConflict, StoreUnavailable
from storage.ids import JobId, TenantId
from storage.job_store.object_folders import folders_of
from storage.job_store.store import JobStore
from storage.jobs.tickets import Tickets
from storage.objects import keys
from storage.objects.store import ArtifactStore, ObjectEntry
from storage.objects.uploads import remove_old_uploads
from storage.queue.celery_queue import TicketQueue
from storage.recovery.audit_log import AuditLog
from storage.recovery.journal import sweep_journal
from storage.runtime.config.failpoints import failpoint
from storage.runtime.observability.metrics import counter, gauge
from worker.janitor.periodic_jobs import TICK_S, Chore
from worker.janitor.voices import VoiceJanitor
from worker.janitor.webhooks import HookJanitor
from worker.process.state_watch import StateWatch

logger = logging.getLogger("worker.janitor")

_LEADER = gauge("rhapsode_janitor_leader")
_SWEPT = counter("rhapsode_janitor_swept")
_TOPPED_UP = counter("rhapsode_tickets_topped_up")

LOCK_S = 10.0
STATE_INTERVAL_S = 5.0
AUDIT_INTERVAL_S = 60.0
RETENTION_INTERVAL_S = 5.0
LEFTOVERS_INTERVAL_S = 3600.0

LEAVE_WITHIN_S = 7.0
"""Also while Redis does not answer. Supervisors of containers allow ten seconds."""

BATCH = 200
RECALLS_A_TICK = 100
"""Steps of twenty jobs: a batch of 10,000 takes five seconds, and other calls run between the steps."""

PATIENCE_AFTER_OUTAGE_S = 5.0
"""Two rounds of the workers' lease keepers."""

TEMPORARY_AGE_S = 3600.0


class Janitor:
    """The chores, each callable on its own."""

    def __init__(
        self, jobs: JobStore, audits: AuditLog, artifacts: ArtifactStore, tickets: TicketQueue, ticket_cap: int
    ) -> None:
        self._jobs = jobs
        self._audits = audits
        self._artifacts = artifacts
        self._orphans = OrphanSweep(jobs, artifacts)
        self._tickets = tickets
        self._ticket_cap = ticket_cap
        self._patient_until = 0.0

    def sweep(self) -> None:
        """What the clock decides: leases, retries, deadlines. What becomes ready gets its ticket from `top_up`.

        After Redis was away, every lease may look expired although its worker lives and could not say so; the
        workers get a few seconds to extend them first (`redis_was_away`).
        """
        if time.monotonic() < self._patient_until:
            return
        report = self._jobs.reap(BATCH)
        _SWEPT.labels("lease_expired").inc(report.leases_expired)
        _SWEPT.labels("retry_due").inc(report.retries_due)
        _SWEPT.labels("job_expired").inc(report.jobs_expired)
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
        """Replace lost tickets: as many as are wanted (up to the cap) should wait in the broker.

        A queue without ready items has no entry and is not asked about: an idle system costs the broker nothing.
        """
        missing = Tickets()
        for queue, wanted in self._jobs.wanted_tickets().items():
            number = min(wanted, self._ticket_cap) - self._tickets.waiting(queue)
            if number > 0:
                missing[queue] = number
                _TOPPED_UP.labels(queue).inc(number)
                logger.info("tickets topped up", extra={"queue": queue, "tickets": number})
        self._tickets.send(missing)
        return missing

    def recall_batches(self) -> None:
        """Cancel the jobs of cancelled batches, each batch in turn; what is left is for the next tick."""
        waiting = deque(self._jobs.batches_to_recall())
        for _ in range(RECALLS_A_TICK):
            if not waiting:
                return
            batch = waiting.popleft()
            has_more, tickets = self._jobs.recall(batch)
            self._tickets.send(tickets)
            if has_more:
                waiting.append(batch)
            else:
                logger.info("jobs of a batch cancelled", extra={"batch": batch})

    def audit(self) -> None:
        """Compare the counters with an audit; a difference is a bug and is reported, never repaired in silence."""
        try:
            drift = self._jobs.audit_counters()
        except AuditOvertaken as error:
            logger.info("no audit", extra={"error": str(error)})
            return
        self._audits.note(drift)
        for each in drift:
            extra = {"counter": each.name, "expected": each.expected, "actual": each.actual}
            logger.error("counter drift", extra=extra)

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
        """Remove what writers left that died, or that lost the store."""
        removed = self._artifacts.sweep_temporary(TEMPORARY_AGE_S)
        if removed:
            logger.info("temporary files removed", extra={"files": removed})

    def sweep_uploads(self) -> None:
        removed = remove_old_uploads(self._artifacts)
        if removed:
            logger.info("old uploads removed", extra={"uploads": removed})

    def sweep_journal(self) -> None:
        """Remove entries that are older than any backup."""
        removed = sweep_journal(self._artifacts)
        if removed:
            logger.info("old journal removed", extra={"objects": removed})

    def sweep_orphans(self) -> None:
        """Objects of jobs that are not there any more."""
        self._orphans.run()


def chores_of(janitor: Janitor, state: StateWatch, hooks: HookJanitor) -> Sequence[Chore]:
    """The chores that ask Redis, with their intervals. The first one restores what the others need."""
    return (
        Chore(STATE_INTERVAL_S, state.watch_state),
        Chore(TICK_S, janitor.sweep),
        Chore(TICK_S, janitor.top_up),
        Chore(TICK_S, hooks.sweep_hooks),
        Chore(TICK_S, janitor.recall_batches),
        Chore(AUDIT_INTERVAL_S, janitor.audit),
    )


def removals_of(janitor: Janitor, voices: VoiceJanitor) -> Sequence[Chore]:
    """Removals from the object store. Each takes as long as the store does; no other chore waits for it."""
    return (
        Chore(RETENTION_INTERVAL_S, janitor.end_retentions),
        Chore(LEFTOVERS_INTERVAL_S, janitor.sweep_temporary),
        Chore(LEFTOVERS_INTERVAL_S, janitor.sweep_uploads),
        Chore(LEFTOVERS_INTERVAL_S, janitor.sweep_journal),
        Chore(LEFTOVERS_INTERVAL_S, janitor.sweep_orphans),
        Chore(RETENTION_INTERVAL_S, voices.delete_discarded),
        Chore(LEFTOVERS_INTERVAL_S, voices.sweep_recordings),
        Chore(LEFTOVERS_INTERVAL_S, voices.sweep_caches),
    )


class Leadership:
    """Whether this janitor holds the lock. It does not while Redis does not answer; leases get extra time after that.

    renew: asks for the lock, always from the same thread, which owns it. Any thread may call `is_held`.
    """

    def __init__(self, lock: Callable[[], bool], janitor: Janitor) -> None:
        self._lock = lock
        self._janitor = janitor
        self._is_held = False

    def is_held(self) -> bool:
        return self._is_held

    def renew(self) -> bool:
        try:
            self._is_held = self._lock()
        except StoreUnavailable as error:
            logger.warning("no lock", extra={"error": str(error)})
            self._janitor.redis_was_away()
            self._is_held = False
        _LEADER.set(self._is_held)
        return self._is_held


ORPHAN_AGE_S = 24 * 3600.0

_INPUTS = (keys.input_text, keys.voice_list, keys.speaker_embedding, keys.reference_recording)
"""What an API stores before it submits a job."""


class OrphanSweep:
    """Removes a deleted job's objects a day after the last write, and an input without a job.
    An API process that died before it accepted a job leaves such an input.

    Finished work of a job that Redis does not know is only reported: Redis may have lost data.
    """

    def __init__(self, jobs: JobStore, artifacts: ArtifactStore) -> None:
        self._jobs = jobs
        self._artifacts = artifacts

    def run(self) -> None:
        """Raises `StoreUnavailable`."""
        for folder, objects in self._old_folders(keys.JOBS, lambda entry: "/".join(entry.key.split("/")[:3]) + "/"):
            _, tenant_name, job_name, _ = folder.split("/")
            tenant, job = TenantId(tenant_name), JobId(job_name)
            self._sweep_folder(folder, objects, tenant, job, [input_of(tenant, job) for input_of in _INPUTS])
        for folder, objects in self._old_folders(keys.DELIVERED, lambda entry: entry.key.rsplit("/", 2)[0] + "/"):
            self._sweep_folder(folder, objects, *keys.delivered_for(folder), inputs=())

    def _sweep_folder(
        self, folder: str, objects: Sequence[ObjectEntry], tenant: TenantId, job: JobId, inputs: Sequence[str]
    ) -> None:
        """It goes once the job is gone; without a job, if it holds nothing but inputs."""
        try:
            self._jobs.get(tenant, job)
        except JobGone:
            self._remove(folder)
        except JobNotFound:
            if all(entry.key in inputs for entry in objects):
                self._remove(folder)
            else:
                logger.warning("objects of an unknown job", extra={"job_id": job, "objects": len(objects)})

    def _remove(self, folder: str) -> None:
        removed = self._artifacts.delete_prefix(folder)
        logger.info("orphaned objects removed", extra={"prefix": folder, "objects": removed})

    def _old_folders(
        self, root: str, folder_of: Callable[[ObjectEntry], str]
    ) -> Iterator[tuple[str, list[ObjectEntry]]]:
        """Those to which nothing was added for a day."""
        for folder, entries in groupby(self._artifacts.list(root), key=folder_of):
            objects = list(entries)
            if time.time() - max(entry.modified_at_s for entry in objects) >= ORPHAN_AGE_S:
                yield folder, objects
