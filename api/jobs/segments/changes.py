"""A change of segments: checked against the job and its model before it is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from api.http.problems.problem import invalid_field, problem, unsupported_language
from api.jobs.answers.segment_ids import segment_id
from api.jobs.segments.view import SegmentViewer
from api.jobs.submission.cast import voice_of_cast
from api.jobs.submission.languages import refuse_foreign_text
from api.services.container import ApiServices
from api.voices.matching import listed, own_voice_or_why
from reading.estimates import speech_units
from reading.languages.names import AUTO_LANGUAGE
from reading.spelling.respelling import Lexicon
from reading.spelling.rules import PronunciationRule
from rhapsode.contract.jobs.input import JobInput
from rhapsode.contract.jobs.request import JobRequest
from rhapsode.contract.pronunciations import Rule
from rhapsode.contract.segments import SegmentChange, SegmentsChange, SentenceChange
from storage.errors import SegmentNotFound
from storage.ids import TenantId
from storage.job_store.calls import Transitioned
from storage.narration.cast import SpeakerVoice, find_speaker
from storage.narration.spec import NarrationSpec
from storage.queue.model_registry import ModelCard
from storage.segments.edits import SegmentEdit

_AS_USUAL = JobRequest(input=JobInput(text="all"))
"""Says nothing of how a voice is used."""


def change_segment(
    services: ApiServices, tenant: TenantId, viewer: SegmentViewer, index: int, change: SegmentChange
) -> Transitioned:
    """Raises a `Problem` or a `StorageError`."""
    card = _card(services, viewer.spec)
    now = viewer.edited(index).speaker
    member = _cast_member(services, tenant, change.voice, now, viewer.spec, card)
    edit = SegmentEdit(
        text=change.text,
        speaker=_speaker(change.speaker, viewer.spec) if member is None else member.name,
        language=_language(change.language, card, viewer.spec),
        instructions=_instructions(change.instructions, card),
        seed=change.seed,
    )
    if change.text is not None:
        _check_said(viewer, index, edit, card)
    recast = None if member is None else _recasting(member)
    kinds = {index: _kind(viewer, index, edit, gives_voice=member is not None)}
    return services.jobs.control.edit(tenant, viewer.record.id, {index: edit}, recast, kinds)


def change_segments(
    services: ApiServices, tenant: TenantId, viewer: SegmentViewer, indexes: Sequence[int], change: SegmentsChange
) -> Transitioned:
    """All are changed, or none. indexes: of `change.segments`. Raises a `Problem` or a `StorageError`."""
    if max(indexes) >= len(viewer.segments):
        raise SegmentNotFound
    if change.takes is not None:
        takes = dict(zip(indexes, change.takes, strict=True))
        return select_takes(services, tenant, viewer, takes)
    card = _card(services, viewer.spec)
    if change.pronunciations is not None:
        respelt = _respellings(viewer, indexes, change.pronunciations)
        for index, edit in respelt.items():
            _check_said(viewer, index, edit, card, "/pronunciations")
        if not respelt:
            raise invalid_field("/pronunciations", "not_found", "none of these segments has one of the words")
        kinds = dict.fromkeys(respelt, "pronunciation")
        return services.jobs.control.edit(tenant, viewer.record.id, respelt, kinds=kinds)
    speakers = {index: viewer.edited(index).speaker for index in indexes}
    members = {
        now: _cast_member(services, tenant, change.voice, now, viewer.spec, card) for now in set(speakers.values())
    }
    edits = {index: SegmentEdit(speaker=member.name) for index, now in speakers.items() if (member := members[now])}
    recast = _recasting(*filter(None, members.values()))
    return services.jobs.control.edit(tenant, viewer.record.id, edits, recast, dict.fromkeys(edits, "voice"))


def select_takes(
    services: ApiServices, tenant: TenantId, viewer: SegmentViewer, takes: Mapping[int, int]
) -> Transitioned:
    """takes: the number of the take by the index of its segment. Raises a `StorageError`."""
    kinds = {
        index: "brought_back"
        for index, number in takes.items()
        if not viewer.edited(index).written
        for take in services.jobs.segments.takes(viewer.record.id, index)
        if take.number == number and viewer.edited(index, take.edit).written
    }
    return services.jobs.control.select_takes(tenant, viewer.record.id, takes, kinds)


def change_sentence(
    services: ApiServices, tenant: TenantId, viewer: SegmentViewer, place: tuple[int, int], change: SentenceChange
) -> Transitioned:
    """place: index of the segment and number of its sentence. Raises a `Problem` or a `StorageError`."""
    index, number = place
    now = viewer.edited(index)
    if number >= len(now.sentences):
        raise problem("not_found", f"{segment_id(index)} has no sentence {number + 1}; it has {len(now.sentences)}")
    edit = SegmentEdit(sentences=((number, change.text),))
    _check_said(viewer, index, edit, _card(services, viewer.spec))
    kinds = {index: _kind(viewer, index, edit)}
    return services.jobs.control.edit(tenant, viewer.record.id, {index: edit}, kinds=kinds)


def _kind(viewer: SegmentViewer, index: int, edit: SegmentEdit, *, gives_voice: bool = False) -> str:
    """What the edit changes of the segment, as `EventData` names it. gives_voice: a voice, not another speaker."""
    before, after = viewer.edited(index), viewer.edited(index, edit.over(viewer.states.edit(index)))
    if not (before.written and after.written):
        return "brought_back" if after.written else "deleted"
    names = {"written": "text", "speaker": "voice" if gives_voice else "speaker"}
    names |= {each: each for each in ("language", "instructions")}
    return ",".join(name for each, name in names.items() if getattr(before, each) != getattr(after, each)) or "again"


def _respellings(viewer: SegmentViewer, indexes: Sequence[int], rules: Sequence[Rule]) -> dict[int, SegmentEdit]:
    """For each segment, the rules of words that it has."""
    ready = [(rule, Lexicon([rule])) for rule in (PronunciationRule(**each.model_dump()) for each in rules)]
    found: dict[int, SegmentEdit] = {}
    for index in indexes:
        text = viewer.edited(index).written
        if mine := tuple(rule for rule, applies in ready if any(applies(text, 0, len(text)))):
            found[index] = SegmentEdit(rules=mine)
    return found


def _card(services: ApiServices, spec: NarrationSpec) -> ModelCard | None:
    """None for a model without recent workers. A worker then refuses unsupported changes."""
    return next((card for card in services.models.list() if card.name == spec.model), None)


def _check_said(
    viewer: SegmentViewer, index: int, edit: SegmentEdit, card: ModelCard | None, place: str = "/text"
) -> None:
    """What the segment says with the edit. Raises a `Problem`."""
    text, spec = viewer.edited(index, edit.over(viewer.states.edit(index))).text, viewer.spec
    limit = spec.bounds.max_bytes
    if limit is not None and len(text.encode()) > limit:
        raise invalid_field(place, "too_long", f"{spec.model} takes at most {limit} bytes of UTF-8 in a segment")
    if not text and not any(viewer.edited(each).text for each in range(len(viewer.segments)) if each != index):
        raise invalid_field(place, "empty_text", "nothing would be left to speak; delete the job instead")
    if card is not None:
        _refuse_long(text, place, card)
        refuse_foreign_text(text, place, card)


def _refuse_long(text: str, place: str, card: ModelCard) -> None:
    """A plan cuts what is too long for the model; this text is one segment and stays one."""
    chars = speech_units(" ".join(text.split()))
    if chars > card.max_text_chars:
        most = f"{card.name} speaks at most {card.max_text_chars} characters in a segment"
        raise invalid_field(place, "too_long", f"{most}, not {chars}")


def _speaker(name: str | None, spec: NarrationSpec) -> str | None:
    if name and find_speaker(spec.cast, name) is None:
        known = ", ".join(repr(member.name) for member in spec.cast) or "no speaker"
        raise invalid_field("/speaker", "not_found", f"the job's cast is {known}; use `voice` for another voice")
    return name


def _cast_member(
    services: ApiServices, tenant: TenantId, voice: str | None, now: str, spec: NarrationSpec, card: ModelCard | None
) -> SpeakerVoice | None:
    """The voice as a member of the cast; one that is there already counts. now: who speaks the segment."""
    if voice is None:
        return None
    if card is None:
        raise invalid_field("/voice", "not_available", f"no worker of {spec.model} has said which voices it has")
    name, chosen = voice_of_cast(_AS_USUAL, voice, card, partial(own_voice_or_why, services.voices, tenant))
    return _free_name(SpeakerVoice(_recast_name(now, name, spec), name, chosen.own), spec)


def _recast_name(now: str, voice: str, spec: NarrationSpec) -> str:
    """A character keeps its name, and the new voice follows: `Anna (tom)`. All others are named like the voice."""
    member = find_speaker(spec.cast, now)
    if member is None or member.name == member.voice:
        return voice
    name = now.removesuffix(f" ({member.voice})")
    first = find_speaker(spec.cast, name)
    return name if first is not None and first.voice == voice else f"{name} ({voice})"


def _free_name(wanted: SpeakerVoice, spec: NarrationSpec) -> SpeakerVoice:
    """Under its name, unless another speaker of the cast has that name and keeps its voice."""
    other = find_speaker(spec.cast, wanted.name)
    if other is None or other == wanted:
        return wanted
    return _free_name(replace(wanted, name=f"{wanted.name} (voice)"), spec)


def _recasting(*members: SpeakerVoice) -> Callable[[NarrationSpec], NarrationSpec]:
    def recast(spec: NarrationSpec) -> NarrationSpec:
        return replace(spec, cast=tuple(dict.fromkeys((*spec.cast, *members))))

    return recast


def _language(language: str | None, card: ModelCard | None, spec: NarrationSpec) -> str | None:
    if language is None or card is None:
        return language
    found = listed(language, (AUTO_LANGUAGE, *card.languages))
    if found is None:
        raise unsupported_language(language, spec.model, card.languages)
    return found


def _instructions(instructions: str | None, card: ModelCard | None) -> str | None:
    if instructions is None:
        return None
    said = instructions.strip()
    if said and card is not None and not card.accepts_instructions:
        raise invalid_field("/instructions", "not_supported", f"{card.name} does not take instructions")
    return said
