"""Which voice a request means, also a blend such as `af_bella(2)+af_sky(1)`, and in which mode a model speaks with it.

Pure but for the look-up of a name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from api.http.problems.problem import HttpProblem, invalid_field, model_away, model_not_found, no_clones, no_model
from api.http.times import moment
from rhapsode.contract.voices.modes import CacheMode, IfCacheMissing
from rhapsode.contract.voices.names import name_key
from storage.errors import VoiceGone, VoiceNotFound
from storage.ids import VOICE_ID, TenantId, VoiceId
from storage.narration.voice_reference import SourceKind, VoiceReference
from storage.queue.model_registry import ModelCard, served_models
from storage.voices.records import CacheRequest, CacheTarget, VoiceRecord
from storage.voices.store import VoiceStore

MOST_BLENDED = 8

_MEMBER = re.compile(r"(\w+)(\(\d{1,3}(?:\.\d{1,3})?\))?")
"""Twin of `worker.engine.kokoro.voices`, a library, which reads the weights."""


def find_own_voice(voices: VoiceStore, tenant: TenantId, wanted: str) -> VoiceRecord | None:
    """By id or by name; None if there is none. Raises `VoiceNotFound` or `VoiceGone` for an id."""
    if VOICE_ID.fullmatch(wanted):
        return voices.get(tenant, VoiceId(wanted))
    return voices.find(tenant, wanted)


OwnVoice = VoiceRecord | VoiceNotFound | VoiceGone
"""A voice of the caller's, or the error of an id that has none."""


def own_voice_or_why(voices: VoiceStore, tenant: TenantId, wanted: str) -> OwnVoice | None:
    """As `find_own_voice`, which raises the reason."""
    try:
        return find_own_voice(voices, tenant, wanted)
    except (VoiceNotFound, VoiceGone) as error:
        return error


def modes_of(record: VoiceRecord, card: ModelCard) -> tuple[CacheMode, ...]:
    """How this model can speak with this voice, the fullest way first; empty if it cannot."""
    if record.source.kind is SourceKind.EMBEDDING:
        has_model = record.source.model == card.name and record.source.num_values == card.speaker_dim
        return (CacheMode.X_VECTOR,) if has_model and CacheMode.X_VECTOR in card.voice_modes else ()
    fullest_first = (CacheMode.IN_CONTEXT, CacheMode.X_VECTOR)
    return tuple(mode for mode in fullest_first if mode in card.voice_modes)


def choose_mode(record: VoiceRecord, card: ModelCard, wanted: CacheMode | None, ref_text: str) -> CacheMode:
    """The mode asked for, or the fullest there is a text for. Raises a `HttpProblem` for one that cannot be."""
    possible = modes_of(record, card)
    if not possible:
        raise unfit(record, card)
    if wanted is None:
        fit = [mode for mode in possible if mode is CacheMode.X_VECTOR or ref_text]
        if not fit:
            raise invalid_field("/ref_text", "missing", f"{card.name} needs to know what the recording says")
        return fit[0]
    if wanted not in possible:
        detail = f"{card.name} speaks with {record.name} in {', '.join(possible)} mode only"
        raise invalid_field("/mode", "not_supported", detail)
    if wanted is CacheMode.IN_CONTEXT and not ref_text:
        raise invalid_field("/ref_text", "missing", f"what the recording of {record.name} says is not known")
    return wanted


def reference(
    record: VoiceRecord, card: ModelCard, mode: CacheMode, ref_text: str, if_missing: IfCacheMissing
) -> VoiceReference:
    return VoiceReference(
        voice=record.id,
        name=record.name,
        revision=record.revision,
        model=card.name,
        mode=mode,
        source=record.source,
        ref_text=ref_text if mode is CacheMode.IN_CONTEXT else "",
        if_missing=if_missing,
    )


def cache_request(tenant: TenantId, wanted: VoiceReference, card: ModelCard) -> CacheRequest:
    """The cache of this voice for the checkpoint that the model's workers have now."""
    target = CacheTarget(wanted.voice, wanted.model, wanted.mode)
    return CacheRequest(target, wanted.revision, card.revision, wanted.content(tenant, card.revision))


def cloning_models(names: Sequence[str] | None, cards: Sequence[ModelCard]) -> list[ModelCard]:
    """The models named, or all that have workers and clone. Raises a `HttpProblem`."""
    if not cards:
        raise no_model()
    cloning = [card for card in served_models(cards) if card.voice_modes]
    if names is None:
        if not cloning:
            raise no_clones(", ".join(card.name for card in served_models(cards)), "/models")
        return cloning
    return [_cloning_model(name, cards, cloning) for name in dict.fromkeys(names)]


def require_cloning(cards: Sequence[ModelCard], pointer: str) -> None:
    """Raises a `HttpProblem` if none of the announced models clones. Without any, one may come."""
    if cards and not any(card.voice_modes for card in cards):
        raise no_clones(", ".join(card.name for card in cards), pointer)


def unfit(record: VoiceRecord, card: ModelCard) -> HttpProblem:
    if not card.voice_modes:
        return no_clones(card.name, "/voice")
    source = record.source
    detail = f"{record.name} is an embedding of {source.num_values} numbers for {source.model}, not for {card.name}"
    return invalid_field("/voice", "wrong_model", detail)


def _cloning_model(name: str, cards: Sequence[ModelCard], cloning: Sequence[ModelCard]) -> ModelCard:
    for card in cloning:
        if card.name == name:
            return card
    if all(card.name != name for card in cards):
        raise model_not_found(name, [card.name for card in cloning])
    raise invalid_field("/models", "not_supported", f"{name} does not clone voices, or has no worker now")


def choose_model(name: str | None, cards: Sequence[ModelCard]) -> ModelCard:
    """The model of this name; without one, the model that a worker announced last. Raises a `HttpProblem`.

    A model whose workers are gone while others serve is refused: its queue may never be served.
    """
    if not cards:
        raise no_model()
    if name is None:
        return max(cards, key=lambda card: card.updated_at_ms)
    card = next((card for card in cards if card.name == name), None)
    if card is None:
        raise model_not_found(name, [card.name for card in cards])
    served = served_models(cards)
    if card not in served:
        raise model_away(name, moment(card.updated_at_ms), [card.name for card in served])
    return card


def speaker_of(name: str, card: ModelCard) -> str | None:
    """The voice as the model spells it; None if it has none of this name, and cannot blend it."""
    found = listed(name, card.speakers)
    if found is not None or not card.blends_speakers or "+" not in name:
        return found
    members = [_MEMBER.fullmatch(each.strip()) for each in name.split("+")]
    spelt = [(listed(each[1], card.speakers), each[2] or "") for each in members if each]
    is_known = len(spelt) == len(members) <= MOST_BLENDED and all(speaker for speaker, _ in spelt)
    return "+".join(f"{speaker}{weight}" for speaker, weight in spelt) if is_known else None


def built_in_speaker(name: str, cards: Sequence[ModelCard]) -> str | None:
    """The built-in speaker that has this name, as its model spells it."""
    wanted = name_key(name)
    speakers = (speaker for card in cards for speaker in card.speakers)
    return next((speaker for speaker in speakers if name_key(speaker) == wanted), None)


def listed(name: str, known: Sequence[str]) -> str | None:
    """The name as the model spells it; case makes no difference."""
    wanted = name.casefold()
    return next((candidate for candidate in known if candidate.casefold() == wanted), None)
