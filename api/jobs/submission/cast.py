"""Who speaks in a job: its own voice, and the cast that its input names. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from api.http.problems.problem import HttpProblem, invalid_field, voice_not_found
from api.jobs.submission.input import LINES_POINTER, PreparedInput, unknown_speaker
from api.jobs.submission.voice_choice import ChosenVoice, OwnVoices, choose_voice, own_voice_for, refuse_overrides
from api.voices.speakers import speaker_of
from rhapsode.contract.jobs.input import MAX_SPEAKERS
from rhapsode.contract.jobs.request import JobRequest
from storage.narration.cast import SpeakerVoice
from storage.queue.model_registry import ModelCard
from storage.voices.records import VoiceRecord


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
    cards: Sequence[ModelCard],
    found: OwnVoices,
    brought: ChosenVoice | None,
) -> Cast:
    """Raises a `HttpProblem` or a `StorageError`.

    Without `voice`, a model without voices speaks unassigned text with the first of the cast.
    """
    name = lead_of(request, roles)
    if brought is not None:
        lead = brought
    elif name == request.voice:
        lead = choose_voice(request, name, cards, found)
    else:
        lead = _first_of_cast(request, roles[0], cards, found)
    members: list[SpeakerVoice] = []
    own: list[ChosenVoice] = [lead] if lead.own is not None else []
    for role in roles:
        try:
            chosen = _member(request, role, lead.card, found)
        except HttpProblem:
            if role.is_wish:
                continue
            raise
        if chosen.own is None:
            members.append(SpeakerVoice(role.name, speaker_of(role.voice, lead.card) or role.voice))
        else:
            members.append(SpeakerVoice(role.name, chosen.own.name, chosen.own))
            own.append(chosen)
    # Each voice once, in whichever way it is spoken with.
    return Cast(lead, tuple(members), tuple({chosen.own: chosen for chosen in own}.values()))


def _first_of_cast(request: JobRequest, role: Role, cards: Sequence[ModelCard], found: OwnVoices) -> ChosenVoice:
    try:
        first = choose_voice(request, role.voice, cards, found)
    except HttpProblem as problem:
        raise _at(problem, role.pointer) from problem
    if not first.card.speakers:
        return first
    refuse_overrides(request)
    return ChosenVoice(first.card)


def _member(request: JobRequest, role: Role, card: ModelCard, found: OwnVoices) -> ChosenVoice:
    try:
        if card.task == "voice_design":
            raise invalid_field("/voice", "not_supported", f"{card.name} has one voice, made from `instructions`")
        if speaker_of(role.voice, card) is not None:
            return ChosenVoice(card)
        record = found.get(role.voice)
        if not isinstance(record, VoiceRecord):
            raise voice_not_found(role.voice, card.name, card.speakers) from record
        return own_voice_for(request.model_copy(update={"ref_text": None}), record, card)
    except HttpProblem as problem:
        raise _at(problem, role.pointer) from problem


def _at(problem: HttpProblem, pointer: str) -> HttpProblem:
    """The same about the voice at another place of the request."""
    violations = [replace(each, pointer=pointer) if each.pointer == "/voice" else each for each in problem.violations]
    return problem.at(violations)
