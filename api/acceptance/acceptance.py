"""How any job is accepted: replay, store its input, make the job, send the tickets.

A refusal at any step leaves nothing behind, in Redis or in the store.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from api.access.caller_key import caller_key
from api.http.problems.problem import HttpProblem
from api.services.container import ApiServices
from storage.errors import AdmissionRefused, IdempotencyMismatch
from storage.ids import JobId, TenantId
from storage.job_store.queue_position import QueuePosition
from storage.job_store.submit import Submitted
from storage.jobs.record import JobRecord
from storage.jobs.submissions import IdempotencyKey, Submission
from storage.objects.keys import job_prefix
from storage.runtime.config.failpoints import failpoint


@dataclass(frozen=True, slots=True)
class Accepted:
    """`replayed`: the key had been used for this very body, and `job` is what it made then. place: of a new job, as it
    was then.
    """

    job: JobRecord
    replayed: bool
    place: QueuePosition | None = None


def submit_stored(services: ApiServices, submission: Submission, data: bytes) -> Accepted:
    """Store what the job works on, make the job, send its tickets. Raises a `StorageError`."""
    return submit_with_input(services, submission, lambda: services.artifacts.put(submission.input_key, data))


def submit_with_input(
    services: ApiServices,
    submission: Submission,
    store: Callable[[], object],
    on_accepted: Callable[[JobId], None] | None = None,
) -> Accepted:
    """As `submit_stored`. Raises a `StorageError`, or the `HttpProblem` that `store` raises.

    store: puts what the job works on under the job's own keys. on_accepted: called when
    the job is there and its work has not been handed out.
    """
    try:
        store()
    except HttpProblem:
        _delete_input(services, submission)
        raise
    failpoint("submit.after_put")
    complete = replace(submission, key_id=caller_key())
    submitted = _submit(services, complete)
    if submitted.replayed:
        # Another request with this key came between the look-up and the call.
        _delete_input(services, submission)
    else:
        services.journal.add(complete)
        if on_accepted is not None:
            on_accepted(submitted.job.id)
    failpoint("submit.before_tickets")
    services.tickets.send(submitted.tickets)
    return Accepted(submitted.job, submitted.replayed, submitted.place)


def find_response(services: ApiServices, tenant: TenantId, idempotency: IdempotencyKey | None) -> JobRecord | None:
    """First of all, because the answer to a repeat does not depend on the time or on today's models."""
    if idempotency is None:
        return None
    job = services.jobs.find_response(tenant, idempotency)
    return services.jobs.get(tenant, job) if job else None


def _submit(services: ApiServices, submission: Submission) -> Submitted:
    try:
        return services.jobs.submit_placed(submission, services.queue_positions)
    except (AdmissionRefused, IdempotencyMismatch):
        # Only after an answer: when Redis was not heard, the job may exist and needs its input.
        _delete_input(services, submission)
        raise


def _delete_input(services: ApiServices, submission: Submission) -> None:
    services.artifacts.delete_prefix(job_prefix(submission.tenant, submission.id))
