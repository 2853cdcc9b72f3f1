"""Who speaks in a job: its own voice, and the cast that its input names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from api.http.problems.problem import HttpProblem, invalid_field, voice_not_found
from api.jobs.submission.input import PreparedInput, VoiceUse, unknown_speaker
from api.jobs.submission.voice_choice import ChosenVoice, choose_voice, own_voice_for, refuse_overrides
from api.services.container import ApiServices
from api.voices.matching import find_own_voice
from api.voices.speakers import speaker_of
from rhapsode.contract.jobs.input import MAX_SPEAKERS
from rhapsode.contract.jobs.request import JobRequest
from storage.errors import VoiceGone, VoiceNotFound
from storage.ids import JobId, TenantId
from storage.narration.cast import SpeakerVoice
from storage.queue.model_registry import ModelCard


@dataclass(frozen=True, slots=True)
class Cast:
    """lead: the job's own voice, and the model. members: everybody else; voices: those of the caller among all."""

    lead: ChosenVoice
    members: tuple[SpeakerVoice, ...]
    voices: tuple[ChosenVoice, ...]


@dataclass(frozen=True, slots=True)
class _Role:
    """name: as the input calls it. pointer: where the request says so. is_wish: as of `VoiceUse`."""

    name: str
    voice: str
    pointer: str
    is_wish: bool = False


def choose_cast(
    services: ApiServices, tenant: TenantId, request: JobRequest, prepared: PreparedInput, job: JobId
) -> Cast:
    """Raises a `HttpProblem` or a `StorageError`.

    Without `voice`, a model that has no voice of its own speaks with the first of the cast what no member is named for.
    """
    roles = tuple(_roles(request, prepared))
    firm = tuple(role for role in roles if not role.is_wish)
    if len(firm) > MAX_SPEAKERS:
        raise invalid_field("/input", "too_many", f"{len(firm):,} voices are named; one job has at most {MAX_SPEAKERS}")
    wishes = [role for role in roles if role.is_wish][: MAX_SPEAKERS - len(firm)]
    lead = _lead(services, tenant, request, firm, job)
    members: list[SpeakerVoice] = []
    own: list[ChosenVoice] = [lead] if lead.own is not None else []
    for role in (*firm, *wishes):
        chosen = _member_if_any(services, tenant, request, role, lead.card)
        if chosen is None:
            continue
        if chosen.own is None:
            members.append(SpeakerVoice(role.name, speaker_of(role.voice, lead.card) or role.voice))
        else:
            members.append(SpeakerVoice(role.name, chosen.own.name, chosen.own))
            own.append(chosen)
    return Cast(lead, tuple(members), _distinct(own))


def _roles(request: JobRequest, prepared: PreparedInput) -> Iterator[_Role]:
    """Everybody in `speakers`, then every voice that the input names itself."""
    for name, voice in request.speakers.items():
        if sum(other.casefold() == name.casefold() for other in request.speakers) > 1:
            raise invalid_field("/speakers", "not_allowed", f"{name!r} is there twice; case makes no difference")
        yield _Role(name, voice, f"/speakers/{name.replace('~', '~0').replace('/', '~1')}")
    for use in prepared.voices:
        if use.name in request.speakers:
            continue
        if use.pointer.endswith("/speaker"):
            raise unknown_speaker(use, list(request.speakers))
        yield _named(use)


def _named(use: VoiceUse) -> _Role:
    return _Role(use.name, use.name, use.pointer, use.is_wish)


def _lead(
    services: ApiServices, tenant: TenantId, request: JobRequest, roles: tuple[_Role, ...], job: JobId
) -> ChosenVoice:
    if request.voice is not None or request.brings_voice or not roles:
        return choose_voice(services, tenant, request, job)
    try:
        first = choose_voice(services, tenant, request.model_copy(update={"voice": roles[0].voice}), job)
    except HttpProblem as problem:
        raise _at(problem, roles[0].pointer) from problem
    if not first.card.speakers:
        return first
    refuse_overrides(request)
    return ChosenVoice(first.card)


def _member_if_any(
    services: ApiServices, tenant: TenantId, request: JobRequest, role: _Role, card: ModelCard
) -> ChosenVoice | None:
    """None for a wish that cannot be met."""
    try:
        return _member(services, tenant, request, role, card)
    except HttpProblem:
        if role.is_wish:
            return None
        raise


def _member(services: ApiServices, tenant: TenantId, request: JobRequest, role: _Role, card: ModelCard) -> ChosenVoice:
    try:
        if card.task == "voice_design":
            raise invalid_field("/voice", "not_supported", f"{card.name} has one voice, made from `instructions`")
        if speaker_of(role.voice, card) is not None:
            return ChosenVoice(card)
        record = find_own_voice(services.voices, tenant, role.voice)
        if record is None:
            raise voice_not_found(role.voice, card.name, card.speakers)
        return own_voice_for(request.model_copy(update={"ref_text": None}), record, card)
    except (VoiceNotFound, VoiceGone) as error:
        raise _at(voice_not_found(role.voice, card.name, card.speakers), role.pointer) from error
    except HttpProblem as problem:
        raise _at(problem, role.pointer) from problem


def _at(problem: HttpProblem, pointer: str) -> HttpProblem:
    """The same about the voice at another place of the request."""
    violations = [replace(each, pointer=pointer) if each.pointer == "/voice" else each for each in problem.violations]
    return problem.at(violations)


def _distinct(voices: list[ChosenVoice]) -> tuple[ChosenVoice, ...]:
    """Each voice once, in whichever way it is spoken with."""
    return tuple({chosen.own: chosen for chosen in voices}.values())
