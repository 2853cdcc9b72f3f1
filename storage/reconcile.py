"""After Redis was restored from a backup: what it does not know any more is brought back from the store.

Three things, before any worker starts. The fences jump beyond every one that was given out since the backup, because
an object's name carries one. Unfinished jobs are marked, so that workers take the segments that lie in the store and do
not speak them again. Jobs that were accepted since the backup are submitted again, as the journal has them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import cast

import redis

from storage.artifacts import ArtifactStore
from storage.availability import redis_errors_named
from storage.errors import JobGone, JobNotFound
from storage.job_store import JobStore
from storage.jobs import JobId, Submission, Tickets
from storage.journal import decode_lines, journal_keys
from storage.lua import SERVER_CLOCK, load_script
from storage.redis_keys import RedisKeys

FENCE_JUMP = 1_000_000_000
"""More claims than a system makes in a month; a fence has room for nine million of these jumps."""

OBJECTS_A_STEP = 20
MARKED_A_CALL = 200


@dataclass(frozen=True, slots=True)
class ReconcileStep:
    """next_cursor: where to go on, None at the end. jobs_seen: in this piece of the journal. jobs_restored: that Redis
    did not know. jobs_marked: unfinished ones. jobs_gone: that were deleted since: their input is not there any more.
    counters_mended: that differed from a recount, which the last step makes.
    """

    next_cursor: str | None
    jobs_seen: int
    jobs_restored: int
    jobs_marked: int
    jobs_gone: int
    counters_mended: int
    tickets: Tickets


class Reconciler:
    """Every step is safe to repeat. `clock` as of `JobStore`."""

    def __init__(
        self,
        redis: redis.Redis,
        jobs: JobStore,
        artifacts: ArtifactStore,
        key_prefix: str = "rhapsode",
        clock: str = SERVER_CLOCK,
    ) -> None:
        self._redis = redis
        self._jobs = jobs
        self._artifacts = artifacts
        self._keys = RedisKeys(key_prefix)
        self._mark = load_script(redis, self._keys, "mark_recovered", clock)

    def step(self, cursor: str | None) -> ReconcileStep:
        """The first step, without a cursor, also moves the fences and marks the unfinished jobs that Redis knows.

        Raises `StoreUnavailable`, `AdmissionRefused` (go on when there is room again), `RecountOvertaken` or
        `JournalUnreadable`.
        """
        marked = self._begin() if cursor is None else 0
        keys = list(islice(journal_keys(self._artifacts, cursor), OBJECTS_A_STEP))
        submissions = [each for key in keys for each in decode_lines(key, self._artifacts.get(key))]
        unknown = [each for each in submissions if not self._is_known(each)]
        gone = [each for each in unknown if not self._has_input(each)]
        tickets = Tickets()
        restored = [each for each in unknown if each not in gone]
        for each in restored:
            tickets += self._jobs.submit(each).tickets
        self._mark_all([each.id for each in restored])
        next_cursor = keys[-1] if len(keys) == OBJECTS_A_STEP else None
        return ReconcileStep(
            next_cursor=next_cursor,
            jobs_seen=len(submissions),
            jobs_restored=len(restored),
            jobs_marked=marked,
            jobs_gone=len(gone),
            counters_mended=0 if next_cursor else len(self._jobs.mend_counters().differences),
            tickets=tickets,
        )

    def _begin(self) -> int:
        with redis_errors_named():
            self._redis.incrby(self._keys.single("fence"), FENCE_JUMP)
            unfinished = cast("set[str]", self._redis.smembers(self._keys.single("active")))
        return self._mark_all([JobId(job) for job in unfinished])

    def _mark_all(self, jobs: Sequence[JobId]) -> int:
        marked = 0
        for start in range(0, len(jobs), MARKED_A_CALL):
            with redis_errors_named():
                marked += int(str(self._mark.run(*jobs[start : start + MARKED_A_CALL])[2]))
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
