"""A job that brings its voice along: a speaker embedding in the request, kept with the job and with nothing else."""

from __future__ import annotations

import base64
import binascii
import hashlib
from dataclasses import dataclass

from api.http.problems.problem import HttpProblem, invalid_field
from api.services.container import ApiServices
from api.voices.consent import consent_of
from api.voices.creation import EMBEDDING_MEDIA_TYPE, embedding_model
from api.voices.embedding_input import EMBEDDING_FIELD, pack_embedding, parse_embedding
from rhapsode.contract.jobs.request import JobRequest
from rhapsode.contract.voices.modes import CacheMode, IfCacheMissing
from storage.ids import JobId, TenantId, VoiceId
from storage.narration.voice_reference import SourceKind, VoiceReference, VoiceSource
from storage.objects.keys import speaker_embedding
from storage.queue.model_registry import ModelCard

_EXCLUDES = ("voice", "ref_text", "x_vector_only", "if_cache_missing", "instructions")


@dataclass(frozen=True, slots=True)
class InlineVoice:
    """embedding: float32 (speaker_dim,), little-endian, to be stored under the reference's key."""

    card: ModelCard
    reference: VoiceReference
    embedding: bytes


def inline_voice(
    services: ApiServices, tenant: TenantId, request: JobRequest, given: str | list[float], job: JobId
) -> InlineVoice:
    """Raises a `HttpProblem`. The statement of consent goes into the job's spec, and so into its manifest."""
    for name in _EXCLUDES:
        if name in request.model_fields_set:
            raise invalid_field(f"/{name}", "not_allowed", f"not beside `{EMBEDDING_FIELD}`")
    consent = consent_of(request.consent, tenant)
    card = embedding_model(services, request.model)
    embedding = _embedding(given, card)
    source = VoiceSource(
        SourceKind.EMBEDDING,
        speaker_embedding(tenant, job),
        hashlib.sha256(embedding).hexdigest(),
        len(embedding),
        EMBEDDING_MEDIA_TYPE,
        model=card.name,
    )
    reference = VoiceReference(
        voice=VoiceId(""),
        name=EMBEDDING_FIELD,
        revision=0,
        model=card.name,
        mode=CacheMode.X_VECTOR,
        source=source,
        if_missing=IfCacheMissing.COMPUTE,
        consent=consent.statement,
    )
    return InlineVoice(card, reference, embedding)


def _embedding(given: str | list[float], card: ModelCard) -> bytes:
    return parse_embedding(_decoded(given), card) if isinstance(given, str) else pack_embedding(given, card)


def _decoded(encoded: str) -> bytes:
    try:
        return base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError) as error:
        raise _not_base64() from error


def _not_base64() -> HttpProblem:
    return invalid_field(
        f"/{EMBEDDING_FIELD}", "wrong_type", "must be a list of numbers, or base64 of float32 or of an exported voice"
    )
