"""After Redis was restored from a backup: what it does not know any more is brought back from the store.

Two things, before anything is claimed. Unfinished jobs are marked, so that workers take the segments that lie in the
store and do not speak them again. Jobs that were accepted since the backup are submitted again, as the journal has
them: whatever limits there are, since they were accepted. No fence comes again, because each has the time in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import cast

import redis

from storage.database.functions import Functions
from storage.database.keys import RedisKeys
from storage.errors import IdempotencyMismatch, JobAborted, JobGone, JobNotFound
from storage.ids import JobId, drawn_at_ms
from storage.job_store.store import JobStore
from storage.jobs.submissions import Submission
from storage.jobs.tickets import Tickets
from storage.objects.store import ArtifactStore
from storage.recovery.journal import decode_lines, journal_keys, journal_since
from storage.recovery.state_guard import StateGuard

OBJECTS_A_STEP = 20
MARKED_A_CALL = 200

LATE_S = 60.0
"""The journal names a job a second after it was accepted, or later while the store is slow."""


@dataclass(frozen=True, slots=True)
class ReconcileStep:
    """next_cursor: where to go on, None at the end. jobs_seen: in this piece of the journal. jobs_restored: that Redis
    did not know. jobs_marked: unfinished ones. jobs_gone: that were deleted since, so that their input is not there any
    more, or whose batch has ended. counters_mended: that differed from an audit, which the last step makes.
    """

    next_cursor: str | None
    jobs_seen: int
    jobs_restored: int
    jobs_marked: int
    jobs_gone: int
    counters_mended: int
    tickets: Tickets


class Reconciler:
    """Every step is safe to repeat."""

    def __init__(self, redis: redis.Redis, artifacts: ArtifactStore, key_prefix: str = "rhapsode") -> None:
        self._redis = redis
        self._jobs = JobStore(redis, key_prefix, limits=None)
        self._artifacts = artifacts
        self._guard = StateGuard(redis, artifacts, key_prefix)
        self._key_prefix = key_prefix
        self._keys = RedisKeys(key_prefix)
        self._functions = Functions(redis, key_prefix)

    def step(self, cursor: str | None) -> ReconcileStep:
        """The first step, without a cursor, also marks the unfinished jobs that Redis knows; the last one lets workers
        claim again.

        Raises `StoreUnavailable`, `AuditOvertaken` or `JournalUnreadable`.
        """
        marked = self._begin() if cursor is None else 0
        keys = list(islice(journal_keys(self._artifacts, self._key_prefix, cursor), OBJECTS_A_STEP))
        submissions = [each for key in keys for each in decode_lines(key, self._artifacts.get(key))]
        unknown = [each for each in submissions if not self._is_known(each)]
        tickets = [self._submit_again(each) for each in unknown]
        restored = [each.id for each, made in zip(unknown, tickets, strict=True) if made is not None]
        self._mark_all(restored)
        is_last = len(keys) < OBJECTS_A_STEP
        return ReconcileStep(
            next_cursor=None if is_last else keys[-1],
            jobs_seen=len(submissions),
            jobs_restored=len(restored),
            jobs_marked=marked,
            jobs_gone=len(unknown) - len(restored),
            counters_mended=self._finish() if is_last else 0,
            tickets=sum((made for made in tickets if made is not None), Tickets()),
        )

    def misses_a_job(self) -> bool:
        """Whether a job of the journal's end is unknown: what was accepted since the state was last counted on.

        Raises `StoreUnavailable` or `JournalUnreadable`.
        """
        recent = journal_since(self._artifacts, self._key_prefix, self._guard.counted_at_s() - LATE_S)
        submissions = (each for key in recent for each in decode_lines(key, self._artifacts.get(key)))
        return any(not self._is_known(each) and self._has_input(each) for each in submissions)

    def _begin(self) -> int:
        unfinished = cast("set[str]", self._redis.smembers(self._keys.single("active")))
        return self._mark_all([JobId(job) for job in unfinished])

    def _finish(self) -> int:
        mended = len(self._jobs.mend_counters())
        self._guard.settle()
        return mended

    def _submit_again(self, submission: Submission) -> Tickets | None:
        """None if it is not wanted any more."""
        if not self._has_input(submission):
            return None
        created_at_ms = drawn_at_ms(submission.id)
        try:
            accepted = self._jobs.submit(submission, created_at_ms)
            if accepted.job.id != submission.id:
                # Its client asked again meanwhile and was given another job; this one was promised all the same.
                accepted = self._jobs.submit(replace(submission, idempotency=None), created_at_ms)
        except IdempotencyMismatch:
            accepted = self._jobs.submit(replace(submission, idempotency=None), created_at_ms)
        except (JobAborted, JobGone):
            return None
        return accepted.tickets

    def _mark_all(self, jobs: Sequence[JobId]) -> int:
        marked = 0
        for start in range(0, len(jobs), MARKED_A_CALL):
            reply = self._functions.call("mark_recovered", jobs=jobs[start : start + MARKED_A_CALL])
            marked += reply.number("marked")
        return marked

    def _is_known(self, submission: Submission) -> bool:
        """Also when Redis knows that it was deleted."""
        try:
            self._jobs.get(submission.tenant, submission.id)
        except JobGone:
            return True
        except JobNotFound:
            return False
        return True

    def _has_input(self, submission: Submission) -> bool:
        """The input goes with its job, and never before it."""
        return self._artifacts.stat(submission.input_key) is not None
