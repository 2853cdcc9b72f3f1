"""Which model and which voice a call of OpenAI's shape means, by its names, its task and what it brings along."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from api.http.problems.problem import invalid_field, no_clones
from api.services.container import ApiServices
from api.voices.matching import choose_model, find_own_voice, speaker_of
from rhapsode.contract.openai import DESIGNED_VOICES, TaskType, VoiceOfCall
from storage.ids import TenantId
from storage.queue.model_registry import ModelCard, served_models

_DESIGNS = "voice_design"

_FITS: dict[TaskType, Callable[[ModelCard], bool]] = {
    TaskType.CUSTOM_VOICE: lambda card: bool(card.speakers),
    TaskType.VOICE_DESIGN: lambda card: card.task == _DESIGNS,
    TaskType.BASE: lambda card: bool(card.voice_modes),
}
_WANTS = {
    TaskType.CUSTOM_VOICE: "has built-in voices",
    TaskType.VOICE_DESIGN: "makes its voice from `instructions`",
    TaskType.BASE: "clones voices",
}


@dataclass(frozen=True, slots=True)
class SpokenNames:
    """As a job names them. voice: None for one that the model makes, or that comes with the request."""

    model: str
    voice: str | None
    has_sampling: bool


def spoken_names(services: ApiServices, tenant: TenantId, call: VoiceOfCall, cards: Sequence[ModelCard]) -> SpokenNames:
    """Raises the `HttpProblem` of a name that means nothing here, and of a task that cannot be."""
    card = _model(call, services, cards)
    _refuse_other_task(call, card)
    voice = _voice(services, tenant, call, card)
    if call.model is None and voice is not None and speaker_of(voice, card) is None:
        card = _having(voice, cards) or card
    if call.task_type is TaskType.CUSTOM_VOICE and voice is not None and speaker_of(voice, card) is None:
        detail = f"CustomVoice speaks with {card.name}'s own voices: {', '.join(card.speakers)}"
        raise invalid_field("/voice", "not_allowed", detail)
    if call.task_type is TaskType.BASE and not call.brings_voice and _is_models_own(voice, card):
        detail = "Base speaks with a recording: give `ref_audio`, `speaker_embedding`, or a voice of yours in `voice`"
        raise invalid_field("/ref_audio", "missing", detail)
    return SpokenNames(card.name, voice, card.has_sampling)


def _model(call: VoiceOfCall, services: ApiServices, cards: Sequence[ModelCard]) -> ModelCard:
    """The one that is named, or the one announced last that the task wants."""
    name = services.settings.aliases.model(call.model, [card.name for card in cards])
    task = TaskType.BASE if call.task_type is None and call.brings_voice else call.task_type
    if name is not None or task is None:
        return choose_model(name, cards)
    default = choose_model(None, cards)
    fitting = [card for card in served_models(cards) if _FITS[task](card)]
    if default in fitting:
        return default
    if not fitting:
        pointer = "/task_type" if call.task_type is not None else _brought(call)
        raise invalid_field(pointer, "not_supported", f"no model of this server {_WANTS[task]}")
    return max(fitting, key=lambda card: card.updated_at_ms)


def _brought(call: VoiceOfCall) -> str:
    return "/speaker_embedding" if call.ref_audio is None else "/ref_audio"


def _refuse_other_task(call: VoiceOfCall, card: ModelCard) -> None:
    task = call.task_type
    if task is not None and not _FITS[task](card):
        raise invalid_field("/task_type", "not_supported", f"{task} needs a model that {_WANTS[task]}, not {card.name}")
    if call.brings_voice and task in (TaskType.CUSTOM_VOICE, TaskType.VOICE_DESIGN):
        raise invalid_field(_brought(call), "not_allowed", f"{task} has its voice; Base takes one along")
    if call.brings_voice and not card.voice_modes:
        raise no_clones(card.name, _brought(call))


def _voice(services: ApiServices, tenant: TenantId, call: VoiceOfCall, card: ModelCard) -> str | None:
    wanted = call.voice_name
    if wanted is None or speaker_of(wanted, card) is not None:
        return _refuse_second(call, wanted)
    if (card.task == _DESIGNS or call.brings_voice) and wanted.casefold() in DESIGNED_VOICES:
        return None
    if card.task != _DESIGNS and find_own_voice(services.voices, tenant, wanted) is not None:
        return _refuse_second(call, wanted)
    meant = services.settings.aliases.voice(wanted, card.speakers)
    if meant != wanted and (call.brings_voice or card.task == _DESIGNS):
        # One of OpenAI's, whose client always sends one.
        return None
    if card.task == _DESIGNS:
        detail = f"{card.name} makes its voice from `instructions`; leave `voice` out, or send {DESIGNED_VOICES[0]!r}"
        raise invalid_field("/voice", "not_supported", detail)
    return _refuse_second(call, meant)


def _refuse_second(call: VoiceOfCall, voice: str | None) -> str | None:
    if voice is not None and call.brings_voice:
        detail = f"`{_brought(call)[1:]}` brings the voice; leave `voice` out, or send {DESIGNED_VOICES[1]!r}"
        raise invalid_field("/voice", "not_allowed", detail)
    return voice


def _having(voice: str, cards: Sequence[ModelCard]) -> ModelCard | None:
    """The model announced last that has this voice."""
    having = [card for card in served_models(cards) if speaker_of(voice, card) is not None]
    return max(having, key=lambda card: card.updated_at_ms, default=None)


def _is_models_own(voice: str | None, card: ModelCard) -> bool:
    return voice is None or speaker_of(voice, card) is not None
