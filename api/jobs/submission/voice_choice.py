"""A job's own voice: which one it names, for which model, and how it is spoken with. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from api.http.problems.problem import invalid_field
from api.voices.matching import choose_mode, choose_model, modes_of, reference, unfit
from api.voices.speakers import speaker_of
from rhapsode.contract.jobs.request import JobRequest
from rhapsode.contract.voices.modes import CacheMode, IfCacheMissing
from storage.errors import VoiceGone, VoiceNotFound
from storage.narration.voice_reference import VoiceReference, normalised_ref_text
from storage.queue.model_registry import ModelCard, served_models
from storage.voices.records import VoiceRecord

ROWS_PER_TEXT_TOKEN = 4
"""Rows of a reference that take at most the room of one token of text, which also needs room for its speech."""

_OVERRIDES = ("ref_text", "x_vector_only", "if_cache_missing")


@dataclass(frozen=True, slots=True)
class ChosenVoice:
    """Whose voice speaks: one of the model's (`own` is None), or the caller's in one mode.

    is_cacheable: False when the request replaced what the recording says, or brought the voice along: no cache of that
    is kept. source: what it brought along, to be stored.
    """

    card: ModelCard
    own: VoiceReference | None = None
    is_cacheable: bool = True
    source: bytes | None = None


OwnVoices = Mapping[str, VoiceRecord | VoiceNotFound | VoiceGone]
"""The caller's voices among the names of a request, and why an id has none. A name that is missing names none."""


def usual_model(request: JobRequest, voice: str | None, cards: Sequence[ModelCard]) -> ModelCard:
    """The model as far as it depends on no voice of the caller's. Raises a `HttpProblem`.

    The default model, unless the caller left the choice open and only another one has the speaker it names.
    """
    default = choose_model(request.model, cards)
    if request.model is not None or voice is None or speaker_of(voice, default) is not None:
        return default
    having = [card for card in served_models(cards) if speaker_of(voice, card) is not None]
    return max(having, key=lambda card: card.updated_at_ms, default=default)


def choose_voice(request: JobRequest, voice: str | None, cards: Sequence[ModelCard], found: OwnVoices) -> ChosenVoice:
    """The model, and the caller's own voice if no model has the name. Raises `HttpProblem` and `StorageError`."""
    if request.consent is not None:
        raise invalid_field("/consent", "not_supported", "only `ref_audio` and `speaker_embedding` need it here")
    card = usual_model(request, voice, cards)
    if voice is None or has_voice(card, voice) or (record := found.get(voice)) is None:
        refuse_overrides(request)
        return ChosenVoice(card)
    if not isinstance(record, VoiceRecord):
        raise record
    if request.model is None:
        card = _fitting_model(record, card, cards)
    return own_voice_for(request, record, card)


def has_voice(card: ModelCard, name: str) -> bool:
    """Whether the model speaks with this name itself, so that no voice of the caller's is meant."""
    return card.task == "voice_design" or speaker_of(name, card) is not None


def reference_room(own: VoiceReference | None, card: ModelCard) -> int:
    """Tokens of text that have no room beside the reference, which the model reads with every segment."""
    if own is None or own.mode is CacheMode.X_VECTOR:
        return 0
    num_frames = (own.source.duration_s or 0.0) * card.sample_rate_hz / card.samples_per_frame
    return math.ceil((len(own.ref_text.encode()) + num_frames) / ROWS_PER_TEXT_TOKEN)


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
