"""The story of a submission: replay, parse, resolve, store the text, make the job, send the tickets.

A refusal at any step leaves nothing behind, in Redis or in the store.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from datetime import UTC, datetime

from api.narration import choose_model, resolve_narration
from api.problems import invalid_field, invalid_header, speech_too_long
from api.request_parsing import parse_job_request
from api.schemas import JobRequest
from api.services import ApiServices
from storage.errors import AdmissionRefused, IdempotencyMismatch
from storage.estimates import MAX_AUDIO_MS, expected_audio_ms
from storage.failpoints import failpoint
from storage.ids import new_job_id
from storage.job_store import Submitted
from storage.jobs import IdempotencyKey, JobRecord, Priority, Submission, TenantId
from storage.keys import input_text, job_prefix

MAX_KEY_CHARS = 255

LATEST_DEADLINE = datetime(9999, 1, 1, tzinfo=UTC)
"""A later one could be read with its offset, but not be written down as UTC again."""


@dataclass(frozen=True, slots=True)
class SubmissionCall:
    """One POST: who sent which bytes under which Idempotency-Key."""

    tenant: TenantId
    body: bytes
    idempotency: IdempotencyKey | None


@dataclass(frozen=True, slots=True)
class Accepted:
    """`replayed`: the key had been used for this very body, and `job` is what it made then."""

    job: JobRecord
    replayed: bool


def submit_narration(services: ApiServices, call: SubmissionCall) -> Accepted:
    """Raises a `Problem` or a `StorageError`."""
    if replayed := find_replay(services, call.tenant, call.idempotency):
        return Accepted(replayed, replayed=True)
    request = parse_job_request(call.body, services.settings.max_text_chars)
    submission = _submission(services, call, request)
    return submit_stored(services, submission, request.input.text.encode())


def submit_stored(services: ApiServices, submission: Submission, data: bytes) -> Accepted:
    """Store what the job works on, make the job, send its tickets. Raises a `StorageError`."""
    services.artifacts.put(submission.input_key, data)
    failpoint("submit.after_put")
    submitted = _submit(services, submission)
    if submitted.replayed:
        # Another request with this key came between the look-up and the script.
        _delete_input(services, submission)
    failpoint("submit.before_tickets")
    services.tickets.send(submitted.tickets)
    return Accepted(submitted.job, submitted.replayed)


def idempotency_key(header: str | None, body: bytes, path: str = "/v1/jobs") -> IdempotencyKey | None:
    """Raises a `Problem` for a key that is empty, too long or not printable ASCII."""
    if header is None:
        return None
    if not 0 < len(header) <= MAX_KEY_CHARS or not (header.isascii() and header.isprintable()):
        detail = f"must be 1 to {MAX_KEY_CHARS} printable ASCII characters"
        raise invalid_header("Idempotency-Key", "invalid_key", detail)
    fingerprint = hashlib.sha256(f"POST {path}\n".encode() + body).hexdigest()
    return IdempotencyKey(header, fingerprint)


def find_replay(services: ApiServices, tenant: TenantId, idempotency: IdempotencyKey | None) -> JobRecord | None:
    """First of all, because the answer to a repeat does not depend on the time or on today's models."""
    if idempotency is None:
        return None
    job = services.jobs.find_replay(tenant, idempotency)
    return services.jobs.get(tenant, job) if job else None


def _submission(services: ApiServices, call: SubmissionCall, request: JobRequest) -> Submission:
    spec = resolve_narration(request, choose_model(request.model, services.models.list()))
    audio_ms = expected_audio_ms(request.input.text)
    if audio_ms > MAX_AUDIO_MS:
        raise speech_too_long(audio_ms, MAX_AUDIO_MS)
    job = new_job_id()
    return Submission(
        id=job,
        tenant=call.tenant,
        spec=spec,
        priority=Priority(request.priority),
        input_key=input_text(call.tenant, job),
        input_chars=len(request.input.text),
        estimated_audio_ms=audio_ms,
        retention_s=request.retention_s,
        deadline_ms=_future_ms(request.deadline),
        metadata=request.metadata,
        idempotency=call.idempotency,
    )


def _future_ms(deadline: datetime | None) -> int | None:
    if deadline is None:
        return None
    if deadline.timestamp() <= time.time():
        raise invalid_field("/deadline", "in_the_past", "the deadline has passed")
    if deadline > LATEST_DEADLINE:
        raise invalid_field("/deadline", "out_of_range", f"must not be later than {LATEST_DEADLINE.isoformat()}")
    return int(deadline.timestamp() * 1000)


def _submit(services: ApiServices, submission: Submission) -> Submitted:
    try:
        return services.jobs.submit(submission)
    except (AdmissionRefused, IdempotencyMismatch):
        # Only after an answer: when Redis was not heard, the job may exist and needs its input.
        _delete_input(services, submission)
        raise


def _delete_input(services: ApiServices, submission: Submission) -> None:
    services.artifacts.delete_prefix(job_prefix(submission.tenant, submission.id))
