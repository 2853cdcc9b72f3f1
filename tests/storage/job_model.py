"""The job store as plain Python: what each call must do, without rings, leases in sorted sets or Lua.

Which ready item a claim picks is the store's choice; the model checks that it was one of the claimable.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil

from storage.jobs import (
    ASSEMBLE_ITEM,
    MOVES,
    PLAN_ITEM,
    QUARANTINE_SUSPICIONS,
    JobClass,
    JobId,
    JobState,
    Lease,
    ReleaseReason,
    Submission,
    TenantId,
    WorkerIdentity,
    job_class,
)
from storage.work_queues import CPU_QUEUE, WorkQueue, speech_queue

Outcome = tuple[object, ...]
"""What a commit said, to tell a repeat from another result under the same fence."""


@dataclass
class Holding:
    fence: int
    worker: WorkerIdentity
    expires_ms: int
    is_alone: bool = False


@dataclass
class ModelJob:
    """One job. Each open item is in exactly one of `ready`, `held` and `waiting`."""

    id: JobId
    tenant: TenantId
    audio_ms: int
    deadline_ms: int | None
    queue: WorkQueue
    line: tuple[TenantId, JobClass]
    state: JobState = JobState.PENDING
    is_started: bool = False
    total: int = 0
    opened: int = 0
    ready: set[str] = field(default_factory=lambda: {PLAN_ITEM})
    held: dict[str, Holding] = field(default_factory=dict)
    waiting: dict[str, int] = field(default_factory=dict)
    done: dict[str, tuple[int, Outcome]] = field(default_factory=dict)
    given_up: dict[str, int] = field(default_factory=dict)
    attempts: dict[str, int] = field(default_factory=dict)
    suspicions: dict[str, int] = field(default_factory=dict)
    retried: dict[str, int] = field(default_factory=dict)
    states: list[JobState] = field(default_factory=lambda: [JobState.PENDING])

    @property
    def is_claimable(self) -> bool:
        return self.state in (JobState.PENDING, JobState.RUNNING)

    def move(self, state: JobState) -> None:
        assert state in MOVES[self.state], f"{self.state} -> {state}"
        self.state = state
        self.states.append(state)
        if state.is_terminal:
            self.ready.clear()
            self.held.clear()
            self.waiting.clear()


class ModelStore:
    def __init__(self, max_attempts: int, window: int) -> None:
        self.max_attempts = max_attempts
        self.window = window
        self.jobs: dict[JobId, ModelJob] = {}
        self.deleted: dict[JobId, TenantId] = {}
        self.fleet: dict[WorkQueue, dict[str, tuple[int, int]]] = {}
        self.keys: dict[tuple[TenantId, str], tuple[str, JobId]] = {}
        self.last_fence = 0

    # What the store must answer

    def verdict(self, lease: Lease) -> str:
        """'held', 'lost' or 'aborted', as any worker's call on this lease is answered."""
        job = self.jobs.get(lease.job)
        if job is None or job.state.is_terminal or job.state is JobState.CANCELLING:
            return "aborted"
        holding = self.holding(lease)
        return "held" if holding and holding.fence == lease.fence else "lost"

    def holding(self, lease: Lease) -> Holding | None:
        """Who holds the lease's item now, if anybody does."""
        job = self.jobs.get(lease.job)
        return job.held.get(lease.item) if job else None

    def is_repeated_commit(self, lease: Lease, outcome: Outcome) -> bool:
        job = self.jobs.get(lease.job)
        return job is not None and job.done.get(lease.item) == (lease.fence, outcome)

    def is_repeated_retry(self, lease: Lease) -> bool:
        job = self.jobs.get(lease.job)
        return job is not None and lease.fence in (job.retried.get(lease.item), job.given_up.get(lease.item))

    def is_repeated_failure(self, lease: Lease) -> bool:
        job = self.jobs.get(lease.job)
        return job is not None and job.given_up.get(lease.item) == lease.fence

    def window_of(self, job: ModelJob, now_ms: int) -> int:
        """A tenant's jobs of one class and model share one and a half times the slots of the model's workers."""
        slots = sum(slots for slots, until_ms in self.fleet.get(job.queue, {}).values() if until_ms > now_ms)
        sharers = [
            other
            for other in self.jobs.values()
            if (other.queue, other.line) == (job.queue, job.line)
            and other.is_claimable
            and any(item.isdecimal() for item in other.ready)
        ]
        return max(self.window, ceil(ceil(slots * 3 / 2) / max(len(sharers), 1)))

    def claimable(self, queue: WorkQueue, now_ms: int) -> set[tuple[JobId, str]]:
        return {
            (job.id, item)
            for job in self.jobs.values()
            if job.is_claimable and not self.is_overdue(job, now_ms)
            for item in job.ready
            if queue_of(job, item) == queue
        }

    @staticmethod
    def is_overdue(job: ModelJob, now_ms: int) -> bool:
        is_open = not job.state.is_terminal and job.state is not JobState.CANCELLING
        return is_open and job.deadline_ms is not None and job.deadline_ms <= now_ms

    def unfinished(self, tenant: TenantId | None = None) -> list[ModelJob]:
        return [
            job for job in self.jobs.values() if not job.state.is_terminal and (tenant is None or job.tenant == tenant)
        ]

    # What happens

    def submit(self, submission: Submission) -> None:
        self.jobs[submission.id] = ModelJob(
            submission.id,
            submission.tenant,
            submission.estimated_audio_ms,
            submission.deadline_ms,
            speech_queue(submission.spec.model),
            (submission.tenant, job_class(submission.priority, submission.estimated_audio_ms)),
        )
        if submission.idempotency:
            key = submission.idempotency
            self.keys[submission.tenant, key.key] = (key.fingerprint, submission.id)

    def claim(self, lease: Lease, worker: WorkerIdentity, expires_ms: int) -> None:
        assert lease.fence > self.last_fence
        self.last_fence = lease.fence
        job = self.jobs[lease.job]
        job.ready.remove(lease.item)
        job.held[lease.item] = Holding(lease.fence, worker, expires_ms)
        if job.state is JobState.PENDING:
            job.move(JobState.RUNNING)
            job.is_started = True

    def drop_if_cancelling(self, lease: Lease) -> None:
        """Whoever is told that the job is being cancelled no longer holds its lease."""
        job = self.jobs.get(lease.job)
        if job is None or job.state is not JobState.CANCELLING:
            return
        holding = self.holding(lease)
        if holding and holding.fence == lease.fence:
            del job.held[lease.item]
            if not job.held:
                job.move(JobState.CANCELLED)

    def commit_plan(self, lease: Lease, outcome: Outcome, total: int, audio_ms: int, now_ms: int) -> None:
        job = self._take(lease, outcome)
        job.total, job.audio_ms = total, audio_ms
        self._open_window(job, now_ms)

    def commit_segment(self, lease: Lease, outcome: Outcome, now_ms: int) -> None:
        job = self._take(lease, outcome)
        self._open_window(job, now_ms)
        if all(str(index) in job.done for index in range(job.total)):
            job.ready.add(ASSEMBLE_ITEM)

    def _open_window(self, job: ModelJob, now_ms: int) -> None:
        segments_done = sum(item.isdecimal() for item in job.done)
        room = self.window_of(job, now_ms) - (job.opened - segments_done)
        until = min(job.opened + max(room, 0), job.total)
        job.ready |= {str(index) for index in range(job.opened, until)}
        job.opened = until

    def isolate(self, lease: Lease) -> None:
        self.jobs[lease.job].held[lease.item].is_alone = True

    def finish(self, lease: Lease, outcome: Outcome) -> None:
        job = self._take(lease, outcome)
        if job.state is JobState.PAUSED:
            job.move(JobState.RUNNING)
        job.move(JobState.SUCCEEDED)

    def _take(self, lease: Lease, outcome: Outcome) -> ModelJob:
        job = self.jobs[lease.job]
        del job.held[lease.item]
        job.done[lease.item] = (lease.fence, outcome)
        return job

    def release(self, lease: Lease, reason: ReleaseReason) -> None:
        job = self.jobs[lease.job]
        holding = job.held.pop(lease.item)
        before = job.suspicions.get(lease.item, 0)
        was_waiting = before >= QUARANTINE_SUSPICIONS and not holding.is_alone
        if reason is not ReleaseReason.SHUTDOWN and not was_waiting:
            job.suspicions[lease.item] = before + 1
            if holding.is_alone:
                job.attempts[lease.item] = job.attempts.get(lease.item, 0) + 1
            if job.attempts.get(lease.item, 0) >= self.max_attempts:
                job.given_up[lease.item] = lease.fence
                job.move(JobState.FAILED)
                return
        job.ready.add(lease.item)

    def retry_later(self, lease: Lease, due_ms: int) -> None:
        job = self.jobs[lease.job]
        del job.held[lease.item]
        job.retried[lease.item] = lease.fence
        job.attempts[lease.item] = job.attempts.get(lease.item, 0) + 1
        if job.attempts[lease.item] >= self.max_attempts:
            job.given_up[lease.item] = lease.fence
            job.move(JobState.FAILED)
        else:
            job.waiting[lease.item] = due_ms

    def fail(self, lease: Lease) -> None:
        job = self.jobs[lease.job]
        job.given_up[lease.item] = lease.fence
        job.move(JobState.FAILED)

    def expire(self, job: ModelJob) -> None:
        job.move(JobState.FAILED if job.is_started else JobState.EXPIRED)

    def reap(self, now_ms: int) -> tuple[int, int, int]:
        """Returns how many leases, retries and deadlines were due."""
        overdue = [job for job in self.jobs.values() if self.is_overdue(job, now_ms)]
        for job in overdue:
            self.expire(job)
        expired = self._leases(lambda holding: holding.expires_ms <= now_ms)
        for lease in expired:
            self._give_back(lease, ReleaseReason.LEASE_EXPIRED)
        due = [(job, item) for job in self.jobs.values() for item, due_ms in job.waiting.items() if due_ms <= now_ms]
        for job, item in due:
            del job.waiting[item]
            job.ready.add(item)
        return len(expired), len(due), len(overdue)

    def release_worker(self, worker: WorkerIdentity) -> None:
        def is_old(holding: Holding) -> bool:
            return holding.worker.name == worker.name and holding.worker.incarnation != worker.incarnation

        for lease in self._leases(is_old):
            self._give_back(lease, ReleaseReason.WORKER_DIED)

    def _leases(self, wanted: Callable[[Holding], bool]) -> list[Lease]:
        return [
            Lease(job.id, job.tenant, item, holding.fence)
            for job in self.jobs.values()
            for item, holding in job.held.items()
            if wanted(holding)
        ]

    def _give_back(self, lease: Lease, reason: ReleaseReason) -> None:
        if self.verdict(lease) == "held":
            self.release(lease, reason)
        else:
            self.drop_if_cancelling(lease)

    def cancel(self, job: ModelJob) -> None:
        if job.state in (JobState.CANCELLING, JobState.CANCELLED):
            return
        if job.held:
            job.move(JobState.CANCELLING)
            job.ready.clear()
            job.waiting.clear()
        else:
            job.move(JobState.CANCELLED)

    def pause(self, job: ModelJob) -> None:
        if job.state is not JobState.PAUSED:
            job.move(JobState.PAUSED)

    def resume(self, job: ModelJob) -> None:
        if job.state is JobState.PAUSED:
            job.move(JobState.RUNNING if job.is_started else JobState.PENDING)

    def delete(self, job: ModelJob) -> None:
        self.deleted[job.id] = job.tenant
        del self.jobs[job.id]


def queue_of(job: ModelJob, item: str) -> WorkQueue:
    return CPU_QUEUE if item in (PLAN_ITEM, ASSEMBLE_ITEM) else job.queue
