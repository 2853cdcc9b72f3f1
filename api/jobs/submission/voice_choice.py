"""A job's own voice: which one it names, for which model, and what is done where its cache is missing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from api.http.problems.problem import HttpProblem, invalid_field, not_ready, stale_cache
from api.jobs.submission.brought_voice import brought_voice
from api.services.container import ApiServices
from api.voices.caches.submission import request_cache
from api.voices.matching import cache_request, choose_mode, choose_model, find_own_voice, modes_of, reference, unfit
from api.voices.speakers import speaker_of
from rhapsode.contract.jobs.request import JobRequest
from rhapsode.contract.voices.modes import CacheMode, IfCacheMissing
from storage.errors import JobGone, JobNotFound
from storage.ids import ContentKey, JobId, TenantId
from storage.narration.voice_reference import VoiceCacheSpec, VoiceReference, normalised_ref_text
from storage.queue.model_registry import ModelCard, served_models
from storage.voices.records import CacheState, VoiceRecord

ROWS_PER_TEXT_TOKEN = 4
"""Rows of a reference that take at most the room of one token of text, which also needs room for its speech."""

_OVERRIDES = ("ref_text", "x_vector_only", "if_cache_missing")


@dataclass(frozen=True, slots=True)
class ChosenVoice:
    """Whose voice speaks: one of the model's (`own` is None), or the caller's in one mode.

    is_cacheable: False when the request replaced what the recording says, or brought the voice along: no cache is kept,
    cache of that. source: what it brought along, to be stored.
    """

    card: ModelCard
    own: VoiceReference | None = None
    is_cacheable: bool = True
    source: bytes | None = None


def choose_voice(services: ApiServices, tenant: TenantId, request: JobRequest, job: JobId) -> ChosenVoice:
    """The model, and the caller's own voice if no model has the name. Raises `HttpProblem` and `StorageError`."""
    if (brought := brought_voice(services, tenant, request, job)) is not None:
        if reference_room(brought.reference, brought.card) > brought.card.max_text_tokens // 2:
            detail = f"the recording is too long for {brought.card.name}; use a shorter one, or `x_vector_only`"
            raise invalid_field("/ref_audio", "too_long", detail)
        return ChosenVoice(brought.card, brought.reference, is_cacheable=False, source=brought.source)
    if request.consent is not None:
        raise invalid_field("/consent", "not_supported", "only `ref_audio` and `speaker_embedding` need it here")
    cards = services.models.list()
    card = _model_with_speaker(request, choose_model(request.model, cards), cards)
    record = None
    if request.voice is not None and speaker_of(request.voice, card) is None and card.task != "voice_design":
        record = find_own_voice(services.voices, tenant, request.voice)
    if record is None:
        refuse_overrides(request)
        return ChosenVoice(card)
    if request.model is None:
        card = _fitting_model(record, card, cards)
    return own_voice_for(request, record, card)


def prepare_voice(services: ApiServices, tenant: TenantId, chosen: ChosenVoice) -> None:
    """Before the job: refuse it, have its voice built or store it. Raises a `HttpProblem` or a `StorageError`."""
    own, card = chosen.own, chosen.card
    if own is not None and chosen.source is not None:
        services.artifacts.put(own.source.key, chosen.source)
    if own is None or own.if_missing is IfCacheMissing.COMPUTE:
        return
    content = own.content(tenant, card.revision)
    if services.voices.find_artifact(tenant, content) is not None:
        return
    if own.if_missing is IfCacheMissing.FAIL:
        raise _missing(services, tenant, own, card)
    if not _is_ordered(services, tenant, own, content):
        request_cache(services, tenant, own, card)


def _is_ordered(services: ApiServices, tenant: TenantId, own: VoiceReference, content: ContentKey) -> bool:
    """Whether a job that does nothing else is going to build it; a narration may be cancelled before it does."""
    for cache in services.voices.caches(tenant, own.voice):
        if cache.content == content and cache.state in (CacheState.PENDING, CacheState.PROCESSING) and cache.job:
            return _prepares_voices(services, tenant, cache.job)
    return False


def _prepares_voices(services: ApiServices, tenant: TenantId, job: JobId) -> bool:
    try:
        return isinstance(services.jobs.get(tenant, job).spec, VoiceCacheSpec)
    except (JobGone, JobNotFound):
        return False


def announce_build(services: ApiServices, tenant: TenantId, chosen: ChosenVoice, job: JobId) -> None:
    """Once the job is there: its first segment builds the cache, and everybody may know."""
    own = chosen.own
    if own is not None and chosen.is_cacheable and own.if_missing is IfCacheMissing.COMPUTE:
        services.voices.request_caches(tenant, job, [cache_request(tenant, own, chosen.card)])


def reference_room(own: VoiceReference | None, card: ModelCard) -> int:
    """Tokens of text that have no room beside the reference, which the model reads with every segment."""
    if own is None or own.mode is CacheMode.X_VECTOR:
        return 0
    num_frames = (own.source.duration_s or 0.0) * card.sample_rate_hz / card.samples_per_frame
    return math.ceil((len(own.ref_text.encode()) + num_frames) / ROWS_PER_TEXT_TOKEN)


def _model_with_speaker(request: JobRequest, default: ModelCard, cards: Sequence[ModelCard]) -> ModelCard:
    """The default model, unless the caller left the choice open and only another one has the speaker it names."""
    if request.model is not None or request.voice is None or speaker_of(request.voice, default) is not None:
        return default
    having = [card for card in served_models(cards) if speaker_of(request.voice, card) is not None]
    return max(having, key=lambda card: card.updated_at_ms, default=default)


def own_voice_for(request: JobRequest, record: VoiceRecord, card: ModelCard) -> ChosenVoice:
    """This voice of the caller's as the model speaks with it. Raises a `HttpProblem`."""
    if not modes_of(record, card):
        raise unfit(record, card)
    if request.instructions:
        raise invalid_field("/instructions", "not_supported", f"{card.name} takes none with a voice of yours")
    ref_text = record.ref_text if request.ref_text is None else request.ref_text.strip()
    if request.x_vector_only and request.ref_text:
        raise invalid_field("/ref_text", "not_allowed", "x_vector_only does not read it")
    mode = choose_mode(record, card, CacheMode.X_VECTOR if request.x_vector_only else None, ref_text)
    if request.ref_text and mode is not CacheMode.IN_CONTEXT:
        raise invalid_field("/ref_text", "not_supported", f"{card.name} speaks with {record.name} without it")
    own = reference(record, card, mode, ref_text, request.if_cache_missing)
    is_replaced = normalised_ref_text(ref_text, mode) != normalised_ref_text(record.ref_text, mode)
    if is_replaced and own.if_missing is not IfCacheMissing.COMPUTE:
        raise invalid_field(
            "/if_cache_missing", "not_supported", "there is no cache for a `ref_text` of the request's own"
        )
    if reference_room(own, card) > card.max_text_tokens // 2:
        detail = f"the reference is too long for {card.name}; use a shorter recording, or `x_vector_only`"
        raise invalid_field("/voice", "too_long", detail)
    return ChosenVoice(card, own, is_cacheable=not is_replaced)


def _fitting_model(record: VoiceRecord, default: ModelCard, cards: Sequence[ModelCard]) -> ModelCard:
    """The default model if it can speak with the voice, else the one announced last that can."""
    fitting = [card for card in served_models(cards) if modes_of(record, card)]
    if default in fitting or not fitting:
        return default
    return max(fitting, key=lambda card: card.updated_at_ms)


def refuse_overrides(request: JobRequest) -> None:
    """Raises the `HttpProblem` that there is nothing for them to change."""
    for name in _OVERRIDES:
        if name in request.model_fields_set:
            raise invalid_field(f"/{name}", "not_supported", "only voices of your own have references and caches")


def _missing(services: ApiServices, tenant: TenantId, own: VoiceReference, card: ModelCard) -> HttpProblem:
    caches = services.voices.caches(tenant, own.voice)
    known = next((cache for cache in caches if (cache.target.model, cache.target.mode) == (own.model, own.mode)), None)
    if known is not None and known.artifact is not None and known.model_revision != card.revision:
        return stale_cache(f"{own.name} was prepared for another revision of {own.model}; order its cache again")
    state = "not ordered" if known is None else str(known.state)
    return not_ready(f"the {own.mode} cache of {own.name} for {own.model} is {state}", retry_after_s=2.0)
