"""How a job comes in: accepted whole or not at all, and once for each idempotency key."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import cast

from storage.database.functions import Arguments, Reply
from storage.errors import IdempotencyMismatch, JobAborted, JobGone
from storage.ids import JobId, TenantId
from storage.job_store.calls import JobCalls, key_arguments, key_sha256, record_of, tickets_of
from storage.job_store.queue_position import QueuePosition, place_of, place_question
from storage.jobs.record import JobRecord, queue_of
from storage.jobs.record_codec import submitted_fields
from storage.jobs.states import job_class
from storage.jobs.submissions import IdempotencyKey, Submission
from storage.jobs.tickets import Tickets


@dataclass(frozen=True, slots=True)
class Submitted:
    """`replayed`: the idempotency key had been used, and `job` is the job of that first request. place: of a job that
    is new, where it was asked for.
    """

    job: JobRecord
    replayed: bool
    tickets: Tickets
    place: QueuePosition | None = None


class JobSubmits(JobCalls):
    """The part of the job store that accepts jobs."""

    def submit(self, submission: Submission, created_at_ms: int | None = None) -> Submitted:
        """Accept the job, whole or not at all. created_at_ms: of one that was accepted before, else now.

        Raises `IdempotencyMismatch`, `QuotaExceeded` (the tenant's limit) or `BacklogFull` (the system's), checked in
        this order after a replay. Raises `JobGone` if the replayed job was deleted, `JobAborted` if the job's batch has
        ended.
        """
        arguments = {**self._arguments(submission), "created_at_ms": created_at_ms}
        (reply,) = self._functions.call_each([("submit", arguments)], self._accept_replicas)
        return _submitted(submission, reply)

    def submit_placed(self, submission: Submission) -> Submitted:
        """As `submit`, and where the job stands then, in the same round trip."""
        of_class = job_class(submission.priority, submission.estimated_audio_ms)
        question = place_question(queue_of(submission.spec), of_class, submission.tenant, submission.id)
        calls = [("submit", self._arguments(submission)), question]
        reply, place = self._functions.call_each(calls, self._accept_replicas)
        submitted = _submitted(submission, reply)
        return submitted if submitted.replayed else replace(submitted, place=place_of(place, of_class))

    def find_response(self, tenant: TenantId, idempotency: IdempotencyKey) -> JobId | None:
        """The job this key was used for, if any; `submit` decides, this only saves storing the text."""
        known = cast("str | None", self._redis.get(self._keys.of("idempotency", tenant, key_sha256(idempotency))))
        if known is None:
            return None
        job, _, fingerprint = known.partition("|")
        if fingerprint != idempotency.fingerprint:
            raise IdempotencyMismatch
        return JobId(job)

    def _arguments(self, submission: Submission) -> Arguments:
        estimate = submission.estimated_audio_ms
        return {
            "job": submission.id,
            "tenant": submission.tenant,
            "estimated_audio_ms": estimate,
            "class": job_class(submission.priority, estimate),
            "queue": queue_of(submission.spec),
            "deadline_ms": submission.deadline_ms,
            "limits": self._limits and asdict(self._limits),
            "fields": submitted_fields(submission),
            **key_arguments(submission.idempotency),
        }


def _submitted(submission: Submission, reply: Reply) -> Submitted:
    match reply.status:
        case "mismatch":
            raise IdempotencyMismatch
        case "aborted":
            raise JobAborted(f"{submission.batch} ended before all of its jobs were made")
        case "refused":
            raise reply.refusal()
        case _:
            if not reply.hash("record"):
                raise JobGone(f"{reply.text('job')} answered this idempotency key and was deleted since")
            job = record_of(reply, submission.spec)
            return Submitted(job, replayed=reply.status == "replayed", tickets=tickets_of(reply))
