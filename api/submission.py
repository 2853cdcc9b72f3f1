"""The story of a narration's submission: replay, parse, choose the voice, resolve, accept.

A refusal at any step leaves nothing behind, in Redis or in the store.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from api.acceptance import Accepted, find_replay, submit_with_input
from api.cast import Cast, choose_cast
from api.deadlines import future_ms, refuse_unreachable
from api.input_schemas import JobInput
from api.job_dictionaries import copy_dictionaries, find_dictionaries
from api.job_input import (
    UPLOAD_POINTER,
    PreparedInput,
    prepare_input,
    refuse_cast_without_use,
    stored_entries,
)
from api.job_webhook import choose_webhook
from api.narration import Voices, resolve_language, resolve_narration
from api.own_voice import announce_build, prepare_voice, reference_room
from api.request_parsing import parse_job_request
from api.schemas import JobRequest
from api.services import ApiServices
from api.uploads import take_named_upload
from storage.ids import new_job_id
from storage.jobs import IdempotencyKey, JobId, NarrationSpec, Priority, Submission, TenantId
from storage.keys import input_text
from storage.segment_entries import encode_entries
from storage.sources import Source


@dataclass(frozen=True, slots=True)
class SubmissionCall:
    """One POST: who sent which bytes under which Idempotency-Key, and by which address of this API."""

    tenant: TenantId
    body: bytes
    idempotency: IdempotencyKey | None
    api_url: str
    job: JobId | None = None
    """The id that the caller chose; the caller sees to it that nobody else creates it meanwhile."""


def submit_narration(services: ApiServices, call: SubmissionCall) -> Accepted:
    """Raises a `Problem` or a `StorageError`."""
    if replayed := find_replay(services, call.tenant, call.idempotency):
        return Accepted(replayed, replayed=True)
    request = parse_job_request(call.body, services.settings.max_text_chars)
    return accept_narration(services, call.tenant, request, call.idempotency, call.api_url, call.job)


def accept_narration(
    services: ApiServices,
    tenant: TenantId,
    request: JobRequest,
    idempotency: IdempotencyKey | None,
    api_url: str = "",
    chosen: JobId | None = None,
) -> Accepted:
    """api_url: for links in webhooks. chosen: the job's id, if not a new one.

    Raises a `Problem` or a `StorageError`.
    """
    job = chosen or new_job_id()
    webhook = choose_webhook(services, tenant, request.webhook, api_url)
    given = request.input
    prepared = prepare_input(services, tenant, given)
    refuse_cast_without_use(given, request.speakers)
    cast = choose_cast(services, tenant, request, prepared, job)
    dictionaries = find_dictionaries(services, tenant, request.pronunciation_dictionaries)
    spec = _spec(request, cast, prepared.source, [str(each.version) for each in dictionaries])
    languages = {use.name: resolve_language(use.name, cast.lead.card, use.pointer) for use in prepared.languages}
    submission = replace(_submission(tenant, job, request, spec, prepared, idempotency), webhook=webhook)
    refuse_unreachable(services, submission)
    for voice in cast.voices:
        prepare_voice(services, tenant, voice)

    def store() -> None:
        _store_input(services, submission, given, prepared, languages)
        copy_dictionaries(services, tenant, job, dictionaries)

    return submit_with_input(services, submission, store, lambda job: _announce_builds(services, tenant, cast, job))


def _spec(request: JobRequest, cast: Cast, source: Source, dictionaries: list[str]) -> NarrationSpec:
    card = cast.lead.card
    room = max((reference_room(chosen.own, card) for chosen in (cast.lead, *cast.voices)), default=0)
    voices = Voices(cast.lead.own, cast.members, room)
    return resolve_narration(request, card, voices, source, tuple(dictionaries))


def _store_input(
    services: ApiServices, submission: Submission, given: JobInput, prepared: PreparedInput, languages: dict[str, str]
) -> None:
    key = submission.input_key
    if given.document is not None:
        take_named_upload(services, submission.tenant, given.document.upload_id, UPLOAD_POINTER, key)
    elif prepared.text is not None:
        services.artifacts.put(key, prepared.text.encode())
    else:
        services.artifacts.put(key, encode_entries(stored_entries(prepared, languages)))


def _announce_builds(services: ApiServices, tenant: TenantId, cast: Cast, job: JobId) -> None:
    for voice in cast.voices:
        announce_build(services, tenant, voice, job)


def _submission(
    tenant: TenantId,
    job: JobId,
    request: JobRequest,
    spec: NarrationSpec,
    prepared: PreparedInput,
    idempotency: IdempotencyKey | None,
) -> Submission:
    """A plan alone takes none of the tenant's room: nothing of it is spoken."""
    return Submission(
        id=job,
        tenant=tenant,
        spec=spec,
        priority=Priority(request.priority),
        input_key=input_text(tenant, job),
        input_chars=prepared.num_chars or 0,
        estimated_audio_ms=1 if request.validate_only else prepared.audio_ms,
        retention_s=request.retention_s,
        deadline_ms=future_ms(request.deadline),
        metadata=request.metadata,
        idempotency=idempotency,
    )
