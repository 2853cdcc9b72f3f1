"""A job that brings its voice along, as an embedding or a recording, kept with the job alone. Pure."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Sequence

from api.http.problems.problem import invalid_field, no_clones
from api.jobs.submission.cast import ChosenVoice, reference_room
from api.jobs.submission.reference_audio import Reference
from api.voices.consent import consent_of
from api.voices.creation import EMBEDDING_MEDIA_TYPE, embedding_model
from api.voices.embedding_input import EMBEDDING_FIELD, pack_embedding, parse_embedding
from api.voices.matching import choose_model
from rhapsode.contract.jobs.request import JobRequest
from rhapsode.contract.voices.modes import CacheMode
from storage.audio.recording_verdict import TEXT_OF_LONGER, Repair
from storage.ids import JobId, TenantId, VoiceId
from storage.narration.voice_reference import SourceKind, VoiceReference, VoiceSource
from storage.objects.keys import speaker_embedding
from storage.queue.model_registry import ModelCard, served_models

REF_AUDIO_FIELD = "ref_audio"

_EXCLUDES = {
    EMBEDDING_FIELD: ("voice", "ref_text", "x_vector_only", "if_cache_missing", "instructions"),
    REF_AUDIO_FIELD: ("voice", "if_cache_missing", "instructions"),
}


def brought_model(request: JobRequest, tenant: TenantId, cards: Sequence[ModelCard]) -> ModelCard:
    """The model for the voice that comes along. Raises a `Problem`, also for a missing consent."""
    field = REF_AUDIO_FIELD if request.speaker_embedding is None else EMBEDDING_FIELD
    if field == EMBEDDING_FIELD and request.ref_audio is not None:
        raise invalid_field(f"/{REF_AUDIO_FIELD}", "not_allowed", f"not beside `{EMBEDDING_FIELD}`")
    for name in _EXCLUDES[field]:
        if name in request.model_fields_set:
            raise invalid_field(f"/{name}", "not_allowed", f"not beside `{field}`")
    consent_of(request.consent, tenant)
    return embedding_model(cards, request.model) if field == EMBEDDING_FIELD else _cloning(request.model, cards)


def brought_voice(
    request: JobRequest, tenant: TenantId, job: JobId, card: ModelCard, recording: Reference | None
) -> ChosenVoice:
    """The statement of consent goes into the job's spec, and so into its manifest. Raises a `Problem`."""
    consent = consent_of(request.consent, tenant)
    if recording is not None:
        if (request.ref_text or "").strip() and Repair.CUT in recording.source.repairs:
            raise invalid_field("/ref_text", "not_supported", TEXT_OF_LONGER)
        name, mode, source, data = REF_AUDIO_FIELD, recording_mode(request, card), recording.source, recording.data
    else:
        name, mode, data = EMBEDDING_FIELD, CacheMode.X_VECTOR, _embedding(request.speaker_embedding or [], card)
        source = VoiceSource(
            SourceKind.EMBEDDING,
            speaker_embedding(tenant, job),
            hashlib.sha256(data).hexdigest(),
            len(data),
            EMBEDDING_MEDIA_TYPE,
            model=card.name,
        )
    reference = VoiceReference(
        voice=VoiceId(""),
        name=name,
        revision=0,
        model=card.name,
        mode=mode,
        source=source,
        ref_text=(request.ref_text or "").strip() if mode is CacheMode.IN_CONTEXT else "",
        consent=consent.statement,
    )
    if reference_room(reference, card) > card.max_text_tokens // 2:
        detail = f"the recording is too long for {card.name}; use a shorter one, or `x_vector_only`"
        raise invalid_field("/ref_audio", "too_long", detail)
    return ChosenVoice(card, reference, is_cacheable=False, source=data)


def _embedding(given: str | list[float], card: ModelCard) -> bytes:
    if not isinstance(given, str):
        return pack_embedding(given, card)
    try:
        decoded = base64.b64decode(given, validate=True)
    except (binascii.Error, ValueError) as error:
        detail = "must be a list of numbers, or base64 of float32 or of an exported voice"
        raise invalid_field(f"/{EMBEDDING_FIELD}", "wrong_type", detail) from error
    return parse_embedding(decoded, card)


def _cloning(name: str | None, cards: Sequence[ModelCard]) -> ModelCard:
    """The one that is named, or of those that clone the one announced last."""
    default = choose_model(name, cards)
    if default.voice_modes:
        return default
    cloning = [card for card in served_models(cards) if card.voice_modes]
    if name is not None or not cloning:
        raise no_clones(default.name, f"/{REF_AUDIO_FIELD}")
    return max(cloning, key=lambda card: card.updated_at_ms)


def recording_mode(request: JobRequest, card: ModelCard) -> CacheMode:
    """With what the recording says where that is known, as far as the model can. Raises a `Problem`."""
    has_text = bool((request.ref_text or "").strip())
    if request.x_vector_only and has_text:
        raise invalid_field("/ref_text", "not_allowed", "x_vector_only does not read it")
    if request.x_vector_only and CacheMode.X_VECTOR not in card.voice_modes:
        raise invalid_field("/x_vector_only", "not_supported", f"{card.name} has no speaker encoder")
    if has_text and CacheMode.IN_CONTEXT not in card.voice_modes:
        raise invalid_field("/ref_text", "not_supported", f"{card.name} speaks like a recording without it")
    if has_text:
        return CacheMode.IN_CONTEXT
    if CacheMode.X_VECTOR not in card.voice_modes:
        raise invalid_field("/ref_text", "missing", f"{card.name} needs to know what the recording says")
    return CacheMode.X_VECTOR
