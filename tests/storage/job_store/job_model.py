"""The job store as plain Python: what each call must do, without rings, leases in sorted sets or Lua.

Which ready item a claim picks is the store's choice; the model checks that it was one of the claimable.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil

from rhapsode.contract.jobs.states import JobClass, JobState, Priority
from storage.ids import JobId, TenantId, WorkQueue
from storage.jobs.states import MOVES, job_class
from storage.jobs.submissions import Submission
from storage.jobs.whole import WHOLE_ITEM
from storage.jobs.work_items import (
    ASSEMBLE_ITEM,
    PLAN_ITEM,
    QUARANTINE_SUSPICIONS,
    Lease,
    ReleaseReason,
    WorkerIdentity,
)
from storage.jobs.work_queues import CPU_QUEUE, speech_queue
from storage.narration.spec import NarrationSpec

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
    """One job. Each open item is in exactly one of `ready`, `held` and `waiting`, or the job has not begun to wait.

    sleeps_until_ms: when its plan becomes ready; None once that has come.
    """

    id: JobId
    tenant: TenantId
    audio_ms: int
    deadline_ms: int | None
    queue: WorkQueue
    line: tuple[TenantId, JobClass]
    priority: Priority
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
    edits: dict[str, str] = field(default_factory=dict)
    takes: dict[str, dict[int, tuple[tuple[int, Outcome], str]]] = field(default_factory=dict)
    numbers: dict[str, tuple[int, int]] = field(default_factory=dict)
    runs: int = 0
    taken_back: int = 0
    credit_ms: int = 0
    sleeps_until_ms: int | None = None
    is_whole: bool = False
    has_files: bool = False

    @property
    def first_item(self) -> str:
        return WHOLE_ITEM if self.is_whole else PLAN_ITEM

    @property
    def cost_ms(self) -> int:
        return self.audio_ms // self.total if self.total else 0

    @property
    def admitted_ms(self) -> int:
        """What the job holds of the admission while it has not ended."""
        return self.audio_ms - self.credit_ms

    @property
    def segments_done(self) -> int:
        return sum(item.isdecimal() for item in self.done)

    @property
    def is_complete(self) -> bool:
        return self.total > 0 and self.segments_done == self.total

    def take_of(self, item: str) -> tuple[int, int]:
        """The number in place or being made, and the highest given out."""
        return self.numbers.get(item, (1, 1))

    def file_take(self, item: str) -> None:
        number, _ = self.take_of(item)
        self.takes.setdefault(item, {})[number] = (self.done.pop(item), self.edits.get(item, ""))

    @property
    def is_claimable(self) -> bool:
        return self.state in (JobState.PENDING, JobState.RUNNING)

    def forget_tries(self, item: str) -> None:
        for tries in (self.attempts, self.suspicions, self.retried):
            tries.pop(item, None)

    def move(self, state: JobState) -> None:
        assert state in MOVES[self.state], f"{self.state} -> {state}"
        self.state = state
        self.states.append(state)
        if state.is_terminal:
            self.ready.clear()
            self.held.clear()
            self.waiting.clear()
            self.sleeps_until_ms = None

    def wake(self) -> None:
        self.sleeps_until_ms = None
        self.ready.add(self.first_item)


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
        if job is None:
            return False
        filed = [result for result, _ in job.takes.get(lease.item, {}).values()]
        return (lease.fence, outcome) in (job.done.get(lease.item), *filed)

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

    def submit(self, submission: Submission, now_ms: int) -> None:
        assert isinstance(submission.spec, NarrationSpec)
        job = ModelJob(
            submission.id,
            submission.tenant,
            submission.estimated_audio_ms,
            submission.deadline_ms,
            speech_queue(submission.spec.model),
            (submission.tenant, job_class(submission.priority, submission.estimated_audio_ms)),
            submission.priority,
            is_whole=submission.whole is not None,
        )
        job.ready = {job.first_item}
        self.jobs[submission.id] = job
        if (submission.not_before_ms or 0) > now_ms:
            job.sleeps_until_ms = submission.not_before_ms
            job.ready.clear()
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
            if lease.item == WHOLE_ITEM and not job.total:
                job.total = job.opened = 1

    def drop_if_cancelling(self, lease: Lease) -> None:
        """A worker that is told that the job is being cancelled no longer holds its lease."""
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
        room = self.window_of(job, now_ms) - (job.opened - job.segments_done)
        until = min(job.opened + max(room, 0), job.total)
        job.ready |= {str(index) for index in range(job.opened, until)}
        job.opened = until

    def isolate(self, lease: Lease) -> None:
        self.jobs[lease.job].held[lease.item].is_alone = True

    def finish(self, lease: Lease, outcome: Outcome) -> None:
        job = self._take(lease, outcome)
        if job.state is JobState.PAUSED:
            job.move(JobState.RUNNING)
        job.has_files = True
        job.move(JobState.SUCCEEDED)

    def finish_whole(self, lease: Lease, outcome: Outcome, now_ms: int) -> bool:
        """Whether the job has ended: not one that is paused or was assembled before, whose segment alone is taken."""
        job = self.jobs[lease.job]
        if job.state is not JobState.RUNNING or job.has_files or job.total != 1:
            self.commit_segment(lease, outcome, now_ms)
            return False
        self.finish(lease, outcome)
        return True

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

    def reap(self, now_ms: int) -> tuple[int, int, int, int]:
        """Returns how many leases, retries, deadlines and times to start were due."""
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
        sleepers = [job for job in self.jobs.values() if 0 < (job.sleeps_until_ms or 0) <= now_ms]
        for job in sleepers:
            job.wake()
        return len(expired), len(due), len(overdue), len(sleepers)

    def release_worker(self, worker: WorkerIdentity) -> None:
        def is_old(holding: Holding) -> bool:
            return holding.worker.name == worker.name and holding.worker.boot_id != worker.boot_id

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

    def reopen(self, job: ModelJob, now_ms: int) -> None:
        """The job waits again, for what it lacks."""
        job.move(JobState.PENDING)
        job.runs += 1
        job.is_started, job.deadline_ms = False, None
        job.credit_ms = job.segments_done * job.cost_ms
        lacking = {str(index) for index in range(job.opened)} - set(job.done)
        for item in {*lacking, PLAN_ITEM, ASSEMBLE_ITEM}:
            job.given_up.pop(item, None)
            job.forget_tries(item)
        job.line = (job.tenant, job_class(job.priority, job.admitted_ms))
        if not job.total:
            job.ready.add(job.first_item)
        elif job.is_complete:
            job.ready.add(ASSEMBLE_ITEM)
        else:
            job.ready |= lacking
            self._open_window(job, now_ms)

    def edit(self, job: ModelJob, item: str, edit: str, now_ms: int) -> None:
        """What is done is made anew as the next take; in a job that ended without success, when it is retried."""
        was_done, succeeded = item in job.done, job.state is JobState.SUCCEEDED
        if was_done:
            job.file_take(item)
            _, highest = job.take_of(item)
            job.numbers[item] = (highest + 1, highest + 1)
            job.taken_back += 1
        job.given_up.pop(item, None)
        job.edits[item] = edit
        job.forget_tries(item)
        if succeeded:
            self.reopen(job, now_ms)
        elif was_done and not job.state.is_terminal:
            self._void_assembly(job)
            job.ready.add(item)
            job.credit_ms -= job.cost_ms

    def select(self, job: ModelJob, item: str, number: int, now_ms: int) -> None:
        succeeded = job.state is JobState.SUCCEEDED
        if item in job.done:
            job.file_take(item)
        job.given_up.pop(item, None)
        job.ready.discard(item)
        job.waiting.pop(item, None)
        _, highest = job.take_of(item)
        job.done[item], job.edits[item] = job.takes[item].pop(number)
        job.numbers[item] = (number, highest)
        if succeeded:
            self.reopen(job, now_ms)
        elif not job.state.is_terminal and job.is_complete:
            self.assemble_anew(job)
        elif not job.state.is_terminal:
            self._open_window(job, now_ms)

    def assemble_anew(self, job: ModelJob) -> None:
        self._void_assembly(job)
        job.ready.add(ASSEMBLE_ITEM)

    @staticmethod
    def _void_assembly(job: ModelJob) -> None:
        job.ready.discard(ASSEMBLE_ITEM)
        job.waiting.pop(ASSEMBLE_ITEM, None)
        job.held.pop(ASSEMBLE_ITEM, None)
        job.forget_tries(ASSEMBLE_ITEM)

    @staticmethod
    def reschedule(job: ModelJob, not_before_ms: int, now_ms: int) -> None:
        """Of a job that sleeps."""
        if not_before_ms <= now_ms:
            job.wake()
        else:
            job.sleeps_until_ms = not_before_ms

    @staticmethod
    def prioritise(job: ModelJob, priority: Priority) -> None:
        job.priority = priority
        left_ms = job.audio_ms - job.segments_done * job.cost_ms
        job.line = (job.tenant, job_class(priority, left_ms))

    def delete(self, job: ModelJob) -> None:
        self.deleted[job.id] = job.tenant
        del self.jobs[job.id]


def queue_of(job: ModelJob, item: str) -> WorkQueue:
    return CPU_QUEUE if item in (PLAN_ITEM, ASSEMBLE_ITEM) else job.queue
