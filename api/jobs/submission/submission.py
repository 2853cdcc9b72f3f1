"""The story of a narration's submission: replay, parse, choose the voice, resolve, accept.

A refusal at any step leaves nothing behind, in Redis or in the store.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pydantic import ValidationError

from api.acceptance.acceptance import Accepted, find_response, submit_with_input
from api.acceptance.deadlines import future_ms, refuse_late_start, refuse_unreachable, start_ms
from api.http.json_body import parse_json
from api.http.parsing import body_violations
from api.http.problems.problem import invalid, invalid_field, text_too_long
from api.jobs.submission.cast import Cast, choose_cast
from api.jobs.submission.cover import copy_cover
from api.jobs.submission.dictionaries import copy_dictionaries, find_dictionaries
from api.jobs.submission.input import (
    UPLOAD_POINTER,
    PreparedInput,
    prepare_input,
    refuse_cast_without_use,
    stored_entries,
)
from api.jobs.submission.languages import refuse_foreign_text
from api.jobs.submission.resolving import Voices, resolve_language, resolve_narration
from api.jobs.submission.voice_choice import announce_build, prepare_voice, reference_room
from api.services.container import ApiServices
from api.uploads.named import take_named_upload
from api.webhooks.job_webhook import choose_webhook
from reading.script.entries import encode_entries
from rhapsode.contract.jobs.input import JobInput, NarrationInput
from rhapsode.contract.jobs.request import JobRequest
from storage.ids import JobId, TenantId, new_job_id
from storage.jobs.submissions import IdempotencyKey, Submission, with_plan
from storage.jobs.whole_plan import whole_plan
from storage.narration.spec import NarrationSpec
from storage.objects.keys import input_text


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
    if replayed := find_response(services, call.tenant, call.idempotency):
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
    dictionaries = find_dictionaries(services, tenant, request.pronunciation_dictionaries)
    resolved = resolve_submission(services, tenant, request, job, [str(each.version) for each in dictionaries])
    submission = _planned(replace(resolved.submission, webhook=webhook, idempotency=idempotency), resolved)
    for voice in resolved.cast.voices:
        prepare_voice(services, tenant, voice)

    def store() -> None:
        if request.output.cover is not None:
            copy_cover(services, tenant, job, request.output.cover)
        _store_input(services, submission, request.input, resolved)
        copy_dictionaries(services, tenant, job, dictionaries)

    return submit_with_input(
        services, submission, store, lambda job: _announce_builds(services, tenant, resolved.cast, job)
    )


@dataclass(frozen=True, slots=True)
class ResolvedSubmission:
    """What a request comes to; nothing of it is stored yet.

    languages: of a list's entries, as the model spells them.
    """

    submission: Submission
    spec: NarrationSpec
    cast: Cast
    prepared: PreparedInput
    languages: dict[str, str]

    def stored_input(self) -> bytes:
        """What the job works on. Not of a document, which is taken from its upload."""
        if self.prepared.text is not None:
            return self.prepared.text.encode()
        return encode_entries(stored_entries(self.prepared, self.languages))


def resolve_submission(
    services: ApiServices, tenant: TenantId, request: JobRequest, job: JobId, dictionaries: list[str]
) -> ResolvedSubmission:
    """Everything that can be refused about a request, checked. Raises a `Problem` or a `StorageError`."""
    prepared = prepare_input(services, tenant, request.input)
    refuse_cast_without_use(request.input, request.speakers)
    cast = choose_cast(services, tenant, request, prepared, job)
    spec = _spec(request, cast, prepared.source, dictionaries)
    languages = {use.name: resolve_language(use.name, cast.lead.card, use.pointer) for use in prepared.languages}
    if not dictionaries:
        refuse_foreign_text(request.input, cast.lead.card)
    submission = _submission(tenant, job, request, spec, prepared)
    refuse_late_start(submission.not_before_ms, submission.deadline_ms)
    refuse_unreachable(services, submission)
    return ResolvedSubmission(submission, spec, cast, prepared, languages)


def _spec(request: JobRequest, cast: Cast, source: NarrationInput, dictionaries: list[str]) -> NarrationSpec:
    card = cast.lead.card
    room = max((reference_room(chosen.own, card) for chosen in (cast.lead, *cast.voices)), default=0)
    voices = Voices(cast.lead.own, cast.members, room)
    return resolve_narration(request, card, voices, source, tuple(dictionaries))


def _store_input(services: ApiServices, submission: Submission, given: JobInput, resolved: ResolvedSubmission) -> None:
    key = submission.input_key
    if given.document is not None:
        take_named_upload(services, submission.tenant, given.document.upload_id, UPLOAD_POINTER, key)
    else:
        services.artifacts.put_unread(key, resolved.stored_input())


def _planned(submission: Submission, resolved: ResolvedSubmission) -> Submission:
    """A short text of one segment comes with its plan, and is one item."""
    text = resolved.prepared.text if resolved.cast.lead.card.takes_whole_jobs else None
    whole = None if text is None else whole_plan(text, resolved.spec)
    return submission if whole is None else with_plan(submission, whole)


def _announce_builds(services: ApiServices, tenant: TenantId, cast: Cast, job: JobId) -> None:
    for voice in cast.voices:
        announce_build(services, tenant, voice, job)


def _submission(
    tenant: TenantId,
    job: JobId,
    request: JobRequest,
    spec: NarrationSpec,
    prepared: PreparedInput,
) -> Submission:
    """A plan alone takes none of the tenant's room: nothing of it is spoken."""
    return Submission(
        id=job,
        tenant=tenant,
        spec=spec,
        priority=request.priority,
        input_key=input_text(tenant, job),
        input_chars=prepared.num_chars or 0,
        estimated_audio_ms=1 if request.validate_only else prepared.audio_ms,
        retention_s=request.retention_s,
        deadline_ms=future_ms(request.deadline),
        not_before_ms=_start_ms(request),
        metadata=request.metadata,
    )


def _start_ms(request: JobRequest) -> int | None:
    if request.not_before is not None and request.validate_only:
        raise invalid_field("/not_before", "not_supported", "a plan alone is made at once")
    return start_ms(request.not_before)


def parse_job_request(body: bytes, max_text_chars: int) -> JobRequest:
    """Raises a `Problem`: 400 for what is not JSON, 422 for what is not a job."""
    document = parse_json(body)
    match document:
        # Before anything looks at every character of it.
        case {"input": {"text": str(text)}} if len(text) > max_text_chars:
            raise text_too_long(len(text), max_text_chars)
        case {"input": {"ssml": str(ssml)}} if len(ssml) > max_text_chars:
            raise text_too_long(len(ssml), max_text_chars, "/input/ssml")
        case _:
            pass
    try:
        return JobRequest.model_validate(document)
    except ValidationError as error:
        raise invalid(body_violations(error)) from None
