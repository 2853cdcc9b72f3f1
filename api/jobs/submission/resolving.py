"""What a request means for a model: every default filled in, every name checked against the model's card. Pure."""

from __future__ import annotations

import math
import secrets
from dataclasses import replace
from typing import Any

from api.http.problems.problem import invalid_field, unsupported_language, voice_not_found
from api.jobs.submission.output import resolve_output
from api.jobs.submission.quality import refuse_quality
from api.voices.matching import listed, speaker_of
from reading.languages.names import AUTO_LANGUAGE, NORMALIZED_LANGUAGES, language_name
from reading.plan.plan import CLOSING_MARK_BYTES
from reading.segmenting.lengths import SegmentBounds
from rhapsode.contract.jobs.input import MAX_SEED, NarrationInput, Normalization, SegmentationMode
from rhapsode.contract.jobs.narration import Narration, SegmentLengths
from rhapsode.contract.jobs.options import Reproducibility, SpeechOptions
from rhapsode.contract.jobs.request import JobRequest, SegmentationRequest
from storage.narration.cast import SpeakerVoice
from storage.narration.spec import NarrationSpec
from storage.narration.voice_reference import VoiceReference
from storage.queue.model_registry import ModelCard

_INSTRUCTION_BYTES_PER_TEXT_TOKEN = 4
"""An instruction has at most a token a byte, and four of them take at most the room of one token of text."""


def resolve_narration(
    request: JobRequest,
    card: ModelCard,
    own: VoiceReference | None,
    members: tuple[SpeakerVoice, ...],
    reference_room: int,
    given: NarrationInput,
    dictionaries: tuple[str, ...],
) -> NarrationSpec:
    """own: the caller's voice in place of one of the model's. reference_room: tokens of text that have no room beside
    the longest reference. Raises a `Problem` for what this model cannot do."""
    instructions = _instructions(request.instructions, card, "/instructions")
    language = _language(request, card)
    if request.reproducibility is Reproducibility.STRICT and not card.runs_strict:
        # It is not replaced by less.
        detail = (
            f"no worker of {card.name} is strict; start one with "
            "RHAPSODE_ENGINE_REPRODUCIBILITY=strict, or ask for best_effort"
        )
        raise invalid_field("/reproducibility", "not_supported", detail)
    refuse_quality(request.quality, language, card)
    stays: dict[str, Any] = {name: getattr(request, name) for name in SpeechOptions.model_fields}
    stays["output"] = resolve_output(request.output, card.sample_rate_hz)
    lengths, bounds = _segmentation(request.segmentation, card)
    narration = Narration(
        **stays,
        model=card.name,
        voice=_voice(request, card) if own is None else own.name,
        language=language,
        instructions=instructions,
        seed=secrets.randbelow(MAX_SEED + 1) if request.seed is None else request.seed,
        input=given,
        segmentation=lengths,
        normalization=_normalization(request, language, card),
        pronunciation_dictionaries=dictionaries,
    )
    room = card.max_text_tokens - _most_room_taken(request, card, instructions) - reference_room
    return NarrationSpec(
        request=narration,
        own_voice=own,
        cast=members,
        seed_fixed=request.seed is not None,
        bounds=replace(bounds, max_bytes=room - CLOSING_MARK_BYTES),
        languages=card.languages,
    )


def _segmentation(wanted: SegmentationRequest, card: ModelCard) -> tuple[SegmentLengths, SegmentBounds]:
    """No longer than the model's texts, also if asked for: it would say them twice, or not to their end."""
    target_chars = min(wanted.target_chars, card.max_text_chars)
    lengths = SegmentLengths(
        mode=wanted.asked_mode or SegmentationMode(card.segmentation),
        target_chars=target_chars,
        max_chars=min(wanted.max_chars, card.max_text_chars),
        min_chars=min(wanted.min_chars, target_chars),
    )
    return lengths, SegmentBounds(
        opening_chars=min(wanted.opening_chars, target_chars),
        asked_chars=wanted.asked_chars if wanted.asked_chars > card.max_text_chars else 0,
    )


def _voice(request: JobRequest, card: ModelCard) -> str:
    if card.task == "voice_design":
        if request.voice is not None:
            detail = f"{card.name} makes its voice from `instructions` and has none by name"
            raise invalid_field("/voice", "not_supported", detail)
        return ""
    if request.voice is None and card.speakers:
        return card.speakers[0]
    if request.voice is None:
        detail = f"{card.name} has no built-in voice; name one of yours in `voice`, or choose another model"
        raise invalid_field("/model", "no_voice", detail)
    if (voice := speaker_of(request.voice, card)) is None:
        raise voice_not_found(request.voice, card.name, card.speakers)
    return voice


def resolve_language(language: str, card: ModelCard, pointer: str) -> str:
    """As the model spells it; a BCP 47 tag will do. Raises a `Problem`."""
    known = (AUTO_LANGUAGE, *card.languages)
    found = listed(language, known) or listed(language_name(language) or language, known)
    if found is None:
        raise unsupported_language(language, card.name, card.languages, pointer)
    return found


def _language(request: JobRequest, card: ModelCard) -> str:
    """Left open, it is the only one that the model has: rules for words want to know."""
    language = resolve_language(request.language, card, "/language")
    is_known = language == AUTO_LANGUAGE and len(card.languages) == 1
    return card.languages[0] if is_known and _wanted_normalization(request, card) is Normalization.BASIC else language


def _wanted_normalization(request: JobRequest, card: ModelCard) -> Normalization:
    """Left open, how the model learned to read. Named English becomes words for every model: digits are guessed."""
    if request.normalization is not None:
        return request.normalization
    is_english = (language_name(request.language) or request.language).casefold() == "english"
    return Normalization.BASIC if card.text_front_end == "words" or is_english else Normalization.OFF


def _normalization(request: JobRequest, language: str, card: ModelCard) -> Normalization:
    """Words depend on the language, so it is not guessed. Who left it open gets none where there are no rules."""
    wanted = _wanted_normalization(request, card)
    named = {language, *(entry.language for entry in request.input.segments or () if entry.language)}
    tags = {(language_name(name) or name).casefold() for name in named}
    if wanted is Normalization.BASIC and request.input.ssml is None and tags.isdisjoint(NORMALIZED_LANGUAGES):
        if request.normalization is None:
            return Normalization.OFF
        detail = f"there are rules for {', '.join(NORMALIZED_LANGUAGES)}; name the language in `language`"
        raise invalid_field("/normalization", "not_supported", detail)
    return wanted


def _most_room_taken(request: JobRequest, card: ModelCard, instructions: str) -> int:
    """By the instructions of the job or of any entry, whichever are longest. Raises a `Problem` for these."""
    entries = enumerate(request.input.segments or ())
    own = (
        _instructions(entry.instructions, card, f"/input/segments/{index}/instructions")
        for index, entry in entries
        if entry.instructions is not None
    )
    return max(map(_room_taken, (instructions, *own)))


def _instructions(given: str | None, card: ModelCard, pointer: str) -> str:
    instructions = (given or "").strip()
    if card.task == "voice_design" and not instructions:
        raise invalid_field(pointer, "missing", f"{card.name} needs `instructions` that describe the voice")
    if instructions and not card.accepts_instructions:
        raise invalid_field(pointer, "not_supported", f"{card.name} does not take instructions")
    most_room = card.max_text_tokens // 2
    if _room_taken(instructions) > most_room:
        most = most_room * _INSTRUCTION_BYTES_PER_TEXT_TOKEN
        detail = (
            f"{card.name} takes at most {most:,} bytes of instructions in UTF-8, not {len(instructions.encode()):,}"
        )
        raise invalid_field(pointer, "too_long", detail)
    return instructions


def _room_taken(instructions: str) -> int:
    """Tokens of text that have no room beside these instructions, which the model reads with every segment."""
    return math.ceil(len(instructions.encode()) / _INSTRUCTION_BYTES_PER_TEXT_TOKEN)
