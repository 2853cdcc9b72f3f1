"""Hear a voice: one sentence, as a job like any other."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Response

from api.acceptance.acceptance import Accepted, find_response
from api.access.idempotent_route import IdempotentRoute
from api.dependencies import Links, OptionalJsonBytes, Services, Tenant
from api.http.bodies import json_body
from api.http.idempotency_key import idempotency_key
from api.http.parsing import parse_body
from api.jobs.answers.answers import accepted_answer
from api.jobs.submission.submission import accept_narration
from api.services.intake import JobIntake
from api.voices.named_voices import NamedVoice, find_named_voice
from reading.languages.names import AUTO_LANGUAGE
from rhapsode.contract.jobs.answer import Job
from rhapsode.contract.jobs.input import JobInput
from rhapsode.contract.jobs.request import JobRequest
from rhapsode.contract.jobs.states import Priority
from rhapsode.contract.voices.voices import PreviewOrder
from storage.ids import TenantId
from storage.jobs.submissions import IdempotencyKey
from storage.voices.records import VoiceRecord

router = APIRouter(prefix="/v1/voices", tags=["voices"], route_class=IdempotentRoute)

PREVIEW_RETENTION_S = 24 * 3600


def preview(
    intake: JobIntake, tenant: TenantId, voice: NamedVoice, order: PreviewOrder, idempotency: IdempotencyKey | None
) -> Accepted:
    """Raises a `Problem` or a `StorageError`, as any submission does."""
    if idempotency and (replayed := find_response(intake.jobs, tenant, idempotency)):
        return Accepted(replayed, replayed=True)
    name, model, language = _usual(voice)
    request = JobRequest(
        input=JobInput(text=order.text),
        voice=name,
        model=order.model or model,
        language=order.language or language,
        seed=order.seed,
        priority=Priority.HIGH,
        retention_s=PREVIEW_RETENTION_S,
        metadata={"preview_of": name},
    )
    if order.x_vector_only:
        # Only where it is wished: a built-in voice has no other way to be spoken with, and refuses to be asked.
        request = request.model_copy(update={"x_vector_only": True})
    return accept_narration(intake, tenant, request, idempotency)


def _usual(voice: NamedVoice) -> tuple[str, str | None, str]:
    """What a job calls the voice; the model and the language where the order names none."""
    if isinstance(voice, VoiceRecord):
        return voice.id, None, voice.language
    return voice.name, voice.models[0], AUTO_LANGUAGE


@router.post(
    "/{voice_id}/preview", status_code=202, response_model=Job, openapi_extra=json_body(PreviewOrder, required=False)
)
def post_preview(
    tenant: Tenant,
    services: Services,
    links: Links,
    voice_id: str,
    body: OptionalJsonBytes,
    idempotency_header: Annotated[str | None, Header(alias="Idempotency-Key")] = None,
) -> Response:
    """Hear one of your voices, or a built-in one by its name: a job that speaks one sentence, before other work."""
    voice = find_named_voice(services, tenant, voice_id)
    order = parse_body(PreviewOrder, body) if body else PreviewOrder()
    idempotency = idempotency_key(idempotency_header, body, f"/v1/voices/{voice_id}/preview")
    return accepted_answer(services, links, preview(services.intake, tenant, voice, order, idempotency))
