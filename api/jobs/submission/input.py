"""What a request gives to be spoken: read, checked, and made ready for the store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pydantic_core import PydanticCustomError

from api.http.problems.problem import HttpProblem, invalid_field, speech_too_long, text_too_long
from reading.drafting.lines import encode_lines
from reading.estimates import MAX_AUDIO_MS, expected_audio_ms
from reading.script.entries import ScriptEntry
from reading.script.lenient_ssml import lenient_script
from reading.script.script import Script
from reading.script.ssml import parse_ssml
from reading.script.ssml_document import SsmlError
from rhapsode.contract.jobs.input import DocumentInput, JobInput, NarrationInput, SegmentInput, SourceType, SsmlMode
from rhapsode.contract.speakable_text import check_spoken_text

LINES_POINTER = "/input/lines"
UPLOAD_POINTER = "/input/document/upload_id"

_BYTES_PER_S = 14
"""Of a document of mostly plain characters."""


@dataclass(frozen=True, slots=True)
class VoiceUse:
    """A voice that the input itself names, and where it does so (a JSON pointer).

    is_wish: another speaks where there is none of that name.
    """

    name: str
    pointer: str
    is_wish: bool = False


@dataclass(frozen=True, slots=True)
class PreparedInput:
    """num_chars: None is known once a document is read. audio_ms: expected speech; of a document a rough guess.

    voices: named in the input, each once. languages: likewise, as the input spells them. entries: of a list.
    lines: speakers of quotations, as stored; empty for none.
    """

    source: NarrationInput
    text: str | None
    num_chars: int | None
    audio_ms: int
    voices: tuple[VoiceUse, ...] = ()
    languages: tuple[VoiceUse, ...] = ()
    entries: tuple[SegmentInput, ...] = ()
    lines: bytes = b""


def prepare_input(given: JobInput, max_text_chars: int, upload_bytes: int) -> PreparedInput:
    """upload_bytes: of the document, if it is one. Raises a `HttpProblem`."""
    if given.ssml is not None:
        prepared = _ssml(given.ssml, given.ssml_mode)
    elif given.segments is not None:
        prepared = _entries(given.segments, max_text_chars)
    elif given.document is not None:
        prepared = _document(given.document, upload_bytes)
    else:
        text = given.text or ""
        prepared = PreparedInput(NarrationInput(), text, len(text), expected_audio_ms(text))
    if prepared.audio_ms > MAX_AUDIO_MS:
        raise speech_too_long(prepared.audio_ms, MAX_AUDIO_MS)
    return _with_lines(prepared, given)


def _with_lines(prepared: PreparedInput, given: JobInput) -> PreparedInput:
    if not given.lines and not given.find_speakers:
        return prepared
    spoken = {id: name for name, ids in given.lines.items() for id in ids}
    stored = {"find_speakers": given.find_speakers, "has_lines": bool(spoken)}
    return replace(
        prepared,
        source=prepared.source.model_copy(update=stored),
        voices=(*prepared.voices, *(VoiceUse(name, LINES_POINTER) for name in given.lines)),
        lines=encode_lines(spoken) if spoken else b"",
    )


def _ssml(document: str, mode: SsmlMode) -> PreparedInput:
    """Of lenient SSML, voices that there are not and languages that the model does not speak are passed over."""
    script = _parsed(document, mode)
    is_lenient = mode is SsmlMode.LENIENT
    return PreparedInput(
        source=NarrationInput(type=SourceType.SSML, ssml_mode=mode),
        text=document,
        num_chars=len(script.text),
        audio_ms=expected_audio_ms(script.text),
        voices=tuple(VoiceUse(name, "/input/ssml", is_wish=is_lenient) for name in script.voices),
        languages=() if is_lenient else tuple(VoiceUse(name, "/input/ssml") for name in script.languages),
    )


def _parsed(document: str, mode: SsmlMode) -> Script:
    try:
        script = lenient_script(document) if mode is SsmlMode.LENIENT else parse_ssml(document)
    except SsmlError as error:
        raise invalid_field("/input/ssml", "invalid_ssml", str(error)) from error
    try:
        # Character references can spell what the document itself must not hold.
        check_spoken_text(script.text)
    except PydanticCustomError as error:
        raise invalid_field("/input/ssml", error.type, f"the text of the document: {error.message()}") from error
    return script


def _entries(entries: Sequence[SegmentInput], max_chars: int) -> PreparedInput:
    num_chars = sum(len(entry.text) for entry in entries)
    if num_chars > max_chars:
        raise text_too_long(num_chars, max_chars, "/input/segments")
    voices: dict[str, VoiceUse] = {}
    languages: dict[str, VoiceUse] = {}
    for index, entry in enumerate(entries):
        if entry.voice is not None:
            voices.setdefault(entry.voice, VoiceUse(entry.voice, f"/input/segments/{index}/voice"))
        if entry.speaker is not None:
            voices.setdefault(entry.speaker, VoiceUse(entry.speaker, f"/input/segments/{index}/speaker"))
        if entry.language is not None:
            languages.setdefault(entry.language, VoiceUse(entry.language, f"/input/segments/{index}/language"))
    return PreparedInput(
        source=NarrationInput(type=SourceType.SEGMENTS),
        text=None,
        num_chars=num_chars,
        audio_ms=sum(expected_audio_ms(entry.text) for entry in entries),
        voices=tuple(voices.values()),
        languages=tuple(languages.values()),
        entries=tuple(entries),
    )


def _document(document: DocumentInput, num_bytes: int) -> PreparedInput:
    """Only looked at: it is read where hostile files are read, as part of the job's work."""
    source = NarrationInput(
        type=SourceType.DOCUMENT, format=document.format, include=document.include, images=document.images
    )
    # A guess for the queue, which the plan puts right: books are mostly pictures or mostly compressed text.
    guess_ms = min(num_bytes * 1000 // _BYTES_PER_S, MAX_AUDIO_MS)
    return PreparedInput(source, None, None, max(1, guess_ms))


def stored_entries(prepared: PreparedInput, languages: dict[str, str]) -> list[ScriptEntry]:
    """The entries as the job keeps them. languages: as the model spells what the request named."""
    return [
        ScriptEntry(
            text=entry.text,
            id=entry.id or "",
            speaker=entry.voice or entry.speaker or "",
            language=languages[entry.language] if entry.language else "",
            instructions=entry.instructions,
            seed=entry.seed,
            pause_after_s=entry.pause_after_s,
            speed=entry.speed,
            gain_db=entry.gain_db,
        )
        for entry in prepared.entries
    ]


def refuse_cast(document: DocumentInput) -> None:
    """Raises the `HttpProblem` that nothing in this document could name a speaker."""
    if document.format != "txt":
        detail = f"a document of format {document.format} has no lines `NAME: text`; use txt, `text` or `segments`"
        raise invalid_field("/speakers", "not_supported", detail)


def unknown_speaker(use: VoiceUse, known: Sequence[str]) -> HttpProblem:
    detail = f"there is no {use.name!r} in `speakers`; there is: {', '.join(known) or 'no speaker'}"
    return invalid_field(use.pointer, "not_found", detail)
