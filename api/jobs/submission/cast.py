"""Who speaks in a job: its own voice, the cast that its input names, for which model and how. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from api.http.problems.problem import HttpProblem, invalid_field, voice_not_found
from api.jobs.submission.input import LINES_POINTER, PreparedInput, unknown_speaker
from api.voices.matching import OwnVoice, choose_mode, choose_model, modes_of, reference, speaker_of, unfit
from rhapsode.contract.jobs.input import MAX_SPEAKERS
from rhapsode.contract.jobs.request import JobRequest
from rhapsode.contract.voices.modes import CacheMode, IfCacheMissing
from storage.narration.cast import SpeakerVoice
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


@dataclass(frozen=True, slots=True)
class Cast:
    """lead: the job's own voice, and the model. members: everybody else; voices: those of the caller among all."""

    lead: ChosenVoice
    members: tuple[SpeakerVoice, ...]
    voices: tuple[ChosenVoice, ...]


@dataclass(frozen=True, slots=True)
class Role:
    """name: as the input calls it. pointer: where the request says so. is_wish: as of `VoiceUse`."""

    name: str
    voice: str
    pointer: str
    is_wish: bool = False


def roles_of(request: JobRequest, prepared: PreparedInput) -> tuple[Role, ...]:
    """Everybody in `speakers`, then every voice that the input names itself; wishes last, as far as there is room.

    Raises a `HttpProblem`.
    """
    roles: list[Role] = []
    for name, voice in request.speakers.items():
        if sum(other.casefold() == name.casefold() for other in request.speakers) > 1:
            raise invalid_field("/speakers", "not_allowed", f"{name!r} is there twice; case makes no difference")
        roles.append(Role(name, voice, f"/speakers/{name.replace('~', '~0').replace('/', '~1')}"))
    for use in prepared.voices:
        if use.name in request.speakers:
            continue
        if use.pointer.endswith("/speaker") or use.pointer.startswith(LINES_POINTER):
            raise unknown_speaker(use, list(request.speakers))
        roles.append(Role(use.name, use.name, use.pointer, use.is_wish))
    firm = [role for role in roles if not role.is_wish]
    if len(firm) > MAX_SPEAKERS:
        raise invalid_field("/input", "too_many", f"{len(firm):,} voices are named; one job has at most {MAX_SPEAKERS}")
    return (*firm, *[role for role in roles if role.is_wish][: MAX_SPEAKERS - len(firm)])


def lead_of(request: JobRequest, roles: Sequence[Role]) -> str | None:
    """The name of the job's own voice: the first of the cast where the request names none and brings none."""
    if request.voice is not None or request.brings_voice or not roles or roles[0].is_wish:
        return request.voice
    return roles[0].voice


def choose_cast(
    request: JobRequest,
    roles: Sequence[Role],
    card: ModelCard,
    cards: Sequence[ModelCard],
    found: Mapping[str, OwnVoice],
    brought: ChosenVoice | None,
) -> Cast:
    """card: of `usual_model`. Raises a `HttpProblem` or a `StorageError`.

    Without `voice`, a model without voices speaks unassigned text with the first of the cast.
    """
    name = lead_of(request, roles)
    if brought is not None:
        lead = brought
    elif name == request.voice:
        lead = _choose_voice(request, name, card, cards, found)
    else:
        lead = _first_of_cast(request, roles[0], card, cards, found)
    members: list[SpeakerVoice] = []
    own: list[ChosenVoice] = [lead] if lead.own is not None else []
    without_text = request.model_copy(update={"ref_text": None})
    for role in roles:
        try:
            voice, chosen = voice_of_cast(without_text, role.voice, lead.card, found.get)
        except HttpProblem as problem:
            if role.is_wish:
                continue
            raise _at(problem, role.pointer) from problem
        members.append(SpeakerVoice(role.name, voice, chosen.own))
        if chosen.own is not None:
            own.append(chosen)
    # Each voice once, in whichever way it is spoken with.
    return Cast(lead, tuple(members), tuple({chosen.own: chosen for chosen in own}.values()))


def _first_of_cast(
    request: JobRequest, role: Role, card: ModelCard, cards: Sequence[ModelCard], found: Mapping[str, OwnVoice]
) -> ChosenVoice:
    try:
        first = _choose_voice(request, role.voice, card, cards, found)
    except HttpProblem as problem:
        raise _at(problem, role.pointer) from problem
    if not first.card.speakers:
        return first
    _refuse_overrides(request)
    return ChosenVoice(first.card)


def voice_of_cast(
    request: JobRequest, voice: str, card: ModelCard, find: Callable[[str], OwnVoice | None]
) -> tuple[str, ChosenVoice]:
    """A voice of this model or, as `find` gives it, of the caller's, with its name. Raises a `HttpProblem`."""
    if card.task == "voice_design":
        raise invalid_field("/voice", "not_supported", f"{card.name} has one voice, made from `instructions`")
    if (built_in := speaker_of(voice, card)) is not None:
        return built_in, ChosenVoice(card)
    record = find(voice)
    if not isinstance(record, VoiceRecord):
        raise voice_not_found(voice, card.name, card.speakers) from record
    return record.name, _own_voice_for(request, record, card)


def _at(problem: HttpProblem, pointer: str) -> HttpProblem:
    """The same about the voice at another place of the request."""
    violations = [replace(each, pointer=pointer) if each.pointer == "/voice" else each for each in problem.violations]
    return problem.at(violations)


def usual_model(request: JobRequest, voice: str | None, cards: Sequence[ModelCard]) -> ModelCard:
    """The model as far as it depends on no voice of the caller's. Raises a `HttpProblem`.

    The default model, unless the caller left the choice open and only another one has the speaker it names.
    """
    default = choose_model(request.model, cards)
    if request.model is not None or voice is None or speaker_of(voice, default) is not None:
        return default
    having = [card for card in served_models(cards) if speaker_of(voice, card) is not None]
    return max(having, key=lambda card: card.updated_at_ms, default=default)


def _choose_voice(
    request: JobRequest,
    voice: str | None,
    card: ModelCard,
    cards: Sequence[ModelCard],
    found: Mapping[str, OwnVoice],
) -> ChosenVoice:
    """The model, and the caller's own voice if no model has the name. Raises `HttpProblem` and `StorageError`."""
    if request.consent is not None:
        raise invalid_field("/consent", "not_supported", "only `ref_audio` and `speaker_embedding` need it here")
    if voice is None or has_voice(card, voice) or (record := found.get(voice)) is None:
        _refuse_overrides(request)
        return ChosenVoice(card)
    if not isinstance(record, VoiceRecord):
        raise record
    if request.model is None:
        card = _fitting_model(record, card, cards)
    return _own_voice_for(request, record, card)


def has_voice(card: ModelCard, name: str) -> bool:
    """Whether the model speaks with this name itself, so that no voice of the caller's is meant."""
    return card.task == "voice_design" or speaker_of(name, card) is not None


def reference_room(own: VoiceReference | None, card: ModelCard) -> int:
    """Tokens of text that have no room beside the reference, which the model reads with every segment."""
    if own is None or own.mode is CacheMode.X_VECTOR:
        return 0
    num_frames = (own.source.duration_s or 0.0) * card.sample_rate_hz / card.samples_per_frame
    return math.ceil((len(own.ref_text.encode()) + num_frames) / ROWS_PER_TEXT_TOKEN)


def _own_voice_for(request: JobRequest, record: VoiceRecord, card: ModelCard) -> ChosenVoice:
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


def _refuse_overrides(request: JobRequest) -> None:
    """Raises the `HttpProblem` that there is nothing for them to change."""
    for name in _OVERRIDES:
        if name in request.model_fields_set:
            raise invalid_field(f"/{name}", "not_supported", "only voices of your own have references and caches")
