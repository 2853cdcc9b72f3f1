"""How a job comes in: accepted whole or not at all, and once for each idempotency key."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import cast

from storage.database.redis_errors import redis_errors_named
from storage.database.scripts import Argument, Reply
from storage.errors import IdempotencyMismatch, JobAborted, JobGone, refusal_of
from storage.ids import JobId, TenantId
from storage.job_store.queue_position import QueuePosition, QueuePositions
from storage.job_store.scripts import JobScripts, record_of, tickets_of
from storage.jobs.record import JobRecord, queue_of
from storage.jobs.record_codec import submitted_fields
from storage.jobs.service_classes import job_class
from storage.jobs.submissions import IdempotencyKey, Submission
from storage.jobs.tickets import Tickets

IDEMPOTENCY_TTL_S = 24 * 3600


@dataclass(frozen=True, slots=True)
class Submitted:
    """`replayed`: the idempotency key had been used, and `job` is the job of that first request. place: of a job that
    is new, where it was asked for.
    """

    job: JobRecord
    replayed: bool
    tickets: Tickets
    place: QueuePosition | None = None


class JobSubmits(JobScripts):
    """The part of the job store that accepts jobs."""

    def submit(self, submission: Submission) -> Submitted:
        """Accept the job, whole or not at all.

        Raises `IdempotencyMismatch`, `QuotaExceeded` (the tenant's limit) or `BacklogFull` (the system's), checked
        in this order after a replay; `JobGone` if the replayed job was deleted, `JobAborted` if the job's batch has
        ended.
        """
        return _submitted(submission, self._run("submit", *self._arguments(submission)))

    def submit_placed(self, submission: Submission, places: QueuePositions) -> Submitted:
        """As `submit`, and where the job stands then, in the same round trip."""
        with redis_errors_named():
            reply, place = places.run_behind(self._scripts["submit"], self._arguments(submission), submission)
        submitted = _submitted(submission, reply)
        return submitted if submitted.replayed else replace(submitted, place=place)

    def find_response(self, tenant: TenantId, idempotency: IdempotencyKey) -> JobId | None:
        """The job this key was used for, if any; `submit` decides, this only saves storing the text in vain."""
        with redis_errors_named():
            known = cast("str | None", self._redis.get(self._keys.idempotency(tenant, _key_sha256(idempotency))))
        if known is None:
            return None
        job, _, fingerprint = known.partition("|")
        if fingerprint != idempotency.fingerprint:
            raise IdempotencyMismatch
        return JobId(job)

    def _arguments(self, submission: Submission) -> tuple[Argument, ...]:
        key = submission.idempotency
        estimate = submission.estimated_audio_ms
        return (
            submission.id,
            submission.tenant,
            _key_sha256(key) if key else "",
            key.fingerprint if key else "",
            estimate,
            job_class(submission.priority, estimate),
            submission.deadline_ms or "",
            self._limits.packed if self._limits else "",
            IDEMPOTENCY_TTL_S,
            queue_of(submission.spec),
            *submitted_fields(submission),
        )


def _submitted(submission: Submission, reply: Reply) -> Submitted:
    match reply[0]:
        case "mismatch":
            raise IdempotencyMismatch
        case "aborted":
            raise JobAborted(f"{submission.batch} ended before all of its jobs were made")
        case "refused":
            raise refusal_of(reply[2:])
        case _:
            if not reply[3]:
                raise JobGone(f"{reply[2]} answered this idempotency key and was deleted since")
            job = record_of(reply[3], submission.spec)
            return Submitted(job, replayed=reply[0] == "replayed", tickets=tickets_of(reply))


def _key_sha256(idempotency: IdempotencyKey) -> str:
    return hashlib.sha256(idempotency.key.encode()).hexdigest()
