"""The story of a narration's submission: replay, parse, choose the voice, resolve, accept.

A refusal at any step leaves nothing behind, in Redis or in the store.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime

from api.acceptance import Accepted, find_replay, submit_stored
from api.narration import resolve_narration
from api.own_voice import ChosenVoice, announce_build, choose_voice, prepare_voice, reference_room
from api.problems import invalid_field, speech_too_long
from api.request_parsing import parse_job_request
from api.schemas import JobRequest
from api.services import ApiServices
from storage.estimates import MAX_AUDIO_MS, expected_audio_ms
from storage.ids import new_job_id
from storage.jobs import IdempotencyKey, JobId, Priority, Submission, TenantId
from storage.keys import input_text

LATEST_DEADLINE = datetime(9999, 1, 1, tzinfo=UTC)
"""A later one could be read with its offset, but not be written down as UTC again."""


@dataclass(frozen=True, slots=True)
class SubmissionCall:
    """One POST: who sent which bytes under which Idempotency-Key."""

    tenant: TenantId
    body: bytes
    idempotency: IdempotencyKey | None


def submit_narration(services: ApiServices, call: SubmissionCall) -> Accepted:
    """Raises a `Problem` or a `StorageError`."""
    if replayed := find_replay(services, call.tenant, call.idempotency):
        return Accepted(replayed, replayed=True)
    request = parse_job_request(call.body, services.settings.max_text_chars)
    return accept_narration(services, call.tenant, request, call.idempotency)


def accept_narration(
    services: ApiServices, tenant: TenantId, request: JobRequest, idempotency: IdempotencyKey | None
) -> Accepted:
    """Raises a `Problem` or a `StorageError`."""
    job = new_job_id()
    chosen = choose_voice(services, tenant, request, job)
    submission = _submission(tenant, job, request, chosen, idempotency)
    prepare_voice(services, tenant, chosen)
    data = request.input.text.encode()
    return submit_stored(services, submission, data, lambda job: announce_build(services, tenant, chosen, job))


def _submission(
    tenant: TenantId, job: JobId, request: JobRequest, chosen: ChosenVoice, idempotency: IdempotencyKey | None
) -> Submission:
    spec = resolve_narration(request, chosen.card, chosen.own, reference_room(chosen.own, chosen.card))
    audio_ms = expected_audio_ms(request.input.text)
    if audio_ms > MAX_AUDIO_MS:
        raise speech_too_long(audio_ms, MAX_AUDIO_MS)
    return Submission(
        id=job,
        tenant=tenant,
        spec=spec,
        priority=Priority(request.priority),
        input_key=input_text(tenant, job),
        input_chars=len(request.input.text),
        estimated_audio_ms=audio_ms,
        retention_s=request.retention_s,
        deadline_ms=_future_ms(request.deadline),
        metadata=request.metadata,
        idempotency=idempotency,
    )


def _future_ms(deadline: datetime | None) -> int | None:
    if deadline is None:
        return None
    if deadline.timestamp() <= time.time():
        raise invalid_field("/deadline", "in_the_past", "the deadline has passed")
    if deadline > LATEST_DEADLINE:
        raise invalid_field("/deadline", "out_of_range", f"must not be later than {LATEST_DEADLINE.isoformat()}")
    return int(deadline.timestamp() * 1000)
