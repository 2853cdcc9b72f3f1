"""The acceptance of any job: replay, store its input, create the job, send the tickets.

A refusal at any step removes all data from Redis and the store.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from api.access.caller_key import caller_key
from api.http.problems.problem import HttpProblem
from api.services.intake import JobIntake
from storage.errors import AdmissionRefused, IdempotencyMismatch
from storage.ids import JobId, TenantId
from storage.job_store.queue_position import QueuePosition
from storage.job_store.store import JobStore
from storage.jobs.record import JobRecord
from storage.jobs.submissions import IdempotencyKey, Submission
from storage.objects.keys import job_prefix
from storage.runtime.config.failpoints import failpoint


@dataclass(frozen=True, slots=True)
class Accepted:
    """replayed: an earlier request with this key and body created the job. place: of a new job."""

    job: JobRecord
    replayed: bool
    place: QueuePosition | None = None


def submit_with_input(
    intake: JobIntake,
    submission: Submission,
    store: Callable[[], object],
    on_accepted: Callable[[JobId], object] | None = None,
) -> Accepted:
    """Make the job and send its tickets. Raises a `StorageError`, or the `HttpProblem` that `store` raises.

    store: stores the job's input. on_accepted: called after the job exists, and before its tickets are sent.
    """
    complete = replace(submission, key_id=caller_key())
    job_folder = job_prefix(submission.tenant, submission.id)
    try:
        store()
        failpoint("submit.after_put")
        submitted = intake.jobs.submit_placed(complete)
    except (HttpProblem, AdmissionRefused, IdempotencyMismatch):
        # Only after an answer: without one, the job may exist and need its input.
        intake.artifacts.delete_prefix(job_folder)
        raise
    if submitted.replayed:
        # Another request with this key was faster.
        intake.artifacts.delete_prefix(job_folder)
    else:
        intake.journal.add(complete)
        if on_accepted is not None:
            on_accepted(submitted.job.id)
    failpoint("submit.before_tickets")
    intake.tickets.send(submitted.tickets)
    return Accepted(submitted.job, submitted.replayed, submitted.place)


def find_response(jobs: JobStore, tenant: TenantId, idempotency: IdempotencyKey) -> JobRecord | None:
    """The job of an earlier request. It comes first: a repeat does not depend on the time or on models."""
    job = jobs.find_response(tenant, idempotency)
    return jobs.get(tenant, job) if job else None
