"""Hear a voice: one sentence, as a job like any other."""

from __future__ import annotations

from api.acceptance import Accepted, find_replay
from api.input_schemas import JobInput
from api.named_voices import BuiltInVoice, NamedVoice
from api.schemas import JobRequest
from api.services import ApiServices
from api.submission import accept_narration
from api.voice_schemas import PreviewOrder
from storage.jobs import TenantId
from storage.languages import AUTO_LANGUAGE
from storage.submissions import IdempotencyKey

PREVIEW_RETENTION_S = 24 * 3600


def preview(
    services: ApiServices,
    tenant: TenantId,
    voice: NamedVoice,
    order: PreviewOrder,
    idempotency: IdempotencyKey | None,
) -> Accepted:
    """Raises a `Problem` or a `StorageError`, as any submission does."""
    if replayed := find_replay(services, tenant, idempotency):
        return Accepted(replayed, replayed=True)
    name, model, language = _usual(voice)
    request = JobRequest(
        input=JobInput(text=order.text),
        voice=name,
        model=order.model or model,
        language=order.language or language,
        seed=order.seed,
        priority="high",
        retention_s=PREVIEW_RETENTION_S,
        metadata={"preview_of": name},
    )
    if order.x_vector_only:
        # Only where it is wished: a built-in voice has no other way to be spoken with, and refuses to be asked.
        request = request.model_copy(update={"x_vector_only": True})
    return accept_narration(services, tenant, request, idempotency)


def _usual(voice: NamedVoice) -> tuple[str, str | None, str]:
    """What a job calls the voice; the model and the language where the order names none."""
    if isinstance(voice, BuiltInVoice):
        return voice.name, voice.models[0], AUTO_LANGUAGE
    return voice.id, None, voice.language
