"""A job that brings its voice along, as an embedding or as a recording, kept with the job and with nothing else."""

from __future__ import annotations

from dataclasses import dataclass

from api.http.problems.problem import invalid_field
from api.jobs.submission.inline_voice import inline_voice
from api.jobs.submission.reference_audio import read_reference
from api.services.container import ApiServices
from api.voices.consent import consent_of
from api.voices.matching import choose_model
from rhapsode.contract.jobs.request import JobRequest
from rhapsode.contract.voices.modes import CacheMode
from storage.ids import JobId, TenantId, VoiceId
from storage.narration.voice_reference import VoiceReference
from storage.objects.keys import reference_recording
from storage.queue.model_registry import ModelCard, served_models

REF_AUDIO_FIELD = "ref_audio"

_EXCLUDES = ("voice", "if_cache_missing", "instructions")


@dataclass(frozen=True, slots=True)
class BroughtVoice:
    """source: what is to be stored under the reference's key."""

    card: ModelCard
    reference: VoiceReference
    source: bytes


def brought_voice(services: ApiServices, tenant: TenantId, request: JobRequest, job: JobId) -> BroughtVoice | None:
    """None where the request names its voice. Raises a `Problem`."""
    if request.speaker_embedding is not None:
        if request.ref_audio is not None:
            raise invalid_field(f"/{REF_AUDIO_FIELD}", "not_allowed", "not beside `speaker_embedding`")
        inline = inline_voice(services, tenant, request, request.speaker_embedding, job)
        return BroughtVoice(inline.card, inline.reference, inline.embedding)
    if request.ref_audio is not None:
        return _recorded(services, tenant, request, request.ref_audio, job)
    return None


def _recorded(services: ApiServices, tenant: TenantId, request: JobRequest, ref_audio: str, job: JobId) -> BroughtVoice:
    """Everything that can be refused without the recording is refused before it is fetched."""
    for name in _EXCLUDES:
        if name in request.model_fields_set:
            raise invalid_field(f"/{name}", "not_allowed", f"not beside `{REF_AUDIO_FIELD}`")
    consent = consent_of(request.consent, tenant)
    card = _model(services, request.model)
    mode = _mode(request, card)
    reference = read_reference(services, tenant, ref_audio, reference_recording(tenant, job), f"/{REF_AUDIO_FIELD}")
    return BroughtVoice(
        card,
        VoiceReference(
            voice=VoiceId(""),
            name=REF_AUDIO_FIELD,
            revision=0,
            model=card.name,
            mode=mode,
            source=reference.source,
            ref_text=(request.ref_text or "").strip() if mode is CacheMode.IN_CONTEXT else "",
            consent=consent.statement,
        ),
        reference.data,
    )


def _model(services: ApiServices, name: str | None) -> ModelCard:
    """The one that is named, or of those that clone the one announced last."""
    cards = services.models.list()
    default = choose_model(name, cards)
    if default.voice_modes:
        return default
    cloning = [card for card in served_models(cards) if card.voice_modes]
    if name is not None or not cloning:
        raise invalid_field(f"/{REF_AUDIO_FIELD}", "not_supported", f"{default.name} does not clone voices")
    return max(cloning, key=lambda card: card.updated_at_ms)


def _mode(request: JobRequest, card: ModelCard) -> CacheMode:
    """With what the recording says where that is known, as far as the model can."""
    has_text = bool((request.ref_text or "").strip())
    if request.x_vector_only and has_text:
        raise invalid_field("/ref_text", "not_allowed", "x_vector_only does not read it")
    if request.x_vector_only and CacheMode.X_VECTOR not in card.voice_modes:
        raise invalid_field("/x_vector_only", "not_supported", f"{card.name} has no speaker encoder of its own")
    if has_text and CacheMode.IN_CONTEXT not in card.voice_modes:
        raise invalid_field("/ref_text", "not_supported", f"{card.name} speaks like a recording without it")
    if has_text:
        return CacheMode.IN_CONTEXT
    if CacheMode.X_VECTOR not in card.voice_modes:
        raise invalid_field("/ref_text", "missing", f"{card.name} needs to know what the recording says")
    return CacheMode.X_VECTOR
