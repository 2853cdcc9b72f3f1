"""SSML of any vendor to a script: what can be read is read, what cannot be done is listed with its first place.

Only what is no XML is refused, what declares entities, and what is nested without end.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from xml.parsers import expat

from reading.languages.names import language_name
from reading.script.prosody import ProsodyUnusable, gain_of, is_silent, rate_of
from reading.script.script import Script, Voicing
from reading.script.ssml import BLOCKS, break_s
from reading.script.ssml_document import MAX_DEPTH, SsmlRefused, read_elements
from reading.script.ssml_subset import (
    BREAK_STRENGTHS_S,
    DEFAULT_BREAK,
    MAX_BREAK_S,
    MAX_MARK_CHARS,
    Lenient,
    lenient_element,
)
from reading.script.text_flow import TextFlow

SayAs = Callable[[str, str, str, str], str | None]
"""What is said for a text that is to be interpreted as a kind, in a format, in a language; None where that is not
known."""

_BLEEPED = frozenset({"expletive", "bleep"})
_MARKS = {"mark": "name", "bookmark": "mark"}
"""Elements that name a moment, and the attribute that does so."""

_LONGEST_NAME = 40


@dataclass(frozen=True, slots=True)
class Abilities:
    """voices, languages: those that a job can speak with, None for any. say_as: see `SayAs`."""

    voices: Collection[str] | None = None
    languages: Collection[str] | None = None
    say_as: SayAs = lambda kind, form, text, language: None


_ANY = Abilities()


@dataclass(slots=True)
class _Held:
    """An element whose text is said in another way, as a whole."""

    name: str
    attributes: Mapping[str, str]
    parts: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True)
class _Open:
    name: str
    voicing: Voicing
    held: _Held | None = None


def lenient_script(document: str, abilities: Abilities = _ANY) -> Script:
    """Raises `SsmlError`. No entity is expanded, nothing is fetched."""

    def reader(parser: expat.XMLParserType) -> _Reader:
        parser.StartDoctypeDeclHandler = _check_doctype
        return _Reader(parser, abilities)

    return read_elements(document, reader).script()


class _Reader:
    def __init__(self, parser: expat.XMLParserType, abilities: Abilities) -> None:
        self._parser = parser
        self._abilities = abilities
        self._flow = TextFlow()
        self._open: list[_Open] = []
        self._held: _Held | None = None
        self._skipping = 0
        self.place = (1, 1)

    def script(self) -> Script:
        return self._flow.build()

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.place = (self._parser.CurrentLineNumber, self._parser.CurrentColumnNumber + 1)
        if self._skipping:
            self._skipping += 1
            return
        if len(self._open) >= MAX_DEPTH:
            raise SsmlRefused(f"elements are nested more than {MAX_DEPTH} deep")
        # Vendors differ in their capitals.
        name = name.lower()
        is_silent = self._is_silent(name, attributes)
        held = None
        if name in ("sub", "say-as") and self._held is None and not is_silent:
            held = self._held = _Held(name, attributes)
        self._open.append(_Open(name, self._flow.voicing, held))
        if is_silent:
            self._skipping = 1
        elif name in BLOCKS and self._held is None:
            self._flow.begin_block(BLOCKS[name])
        self._note(name, attributes)
        self._choose(name, attributes)

    def end(self, name: str) -> None:
        if self._skipping > 1:
            self._skipping -= 1
            return
        self._skipping = 0
        opened = self._open.pop()
        if opened.held is not None:
            self._held = None
            self._say_held(opened.held)
        if opened.name == "s" and self._held is None:
            self._flow.end_block()
        elif opened.name in BLOCKS and self._held is None:
            self._flow.end_paragraph()
        self._flow.voicing = opened.voicing

    def text(self, text: str) -> None:
        if self._skipping:
            return
        if self._held is not None:
            self._held.parts.append(text)
        else:
            self._flow.text(text)

    def _is_silent(self, name: str, attributes: Mapping[str, str]) -> bool:
        if name == "say-as" and _kind(attributes) in _BLEEPED:
            return True
        if name == "prosody" and is_silent(attributes.get("volume", "")):
            return True
        return lenient_element(name).lenient in (Lenient.SKIPPED, Lenient.SILENT)

    def _note(self, name: str, attributes: Mapping[str, str]) -> None:
        """What is lost of an element as a whole."""
        element = lenient_element(name)
        if name == "prosody":
            for each in attributes or ("",):
                if each not in element.lenient_attributes:
                    self._leave_out(f"prosody {each}".strip())
        elif name == "say-as" and _kind(attributes) in _BLEEPED:
            self._leave_out(f"say-as {_kind(attributes)}")
        elif element.lenient in (Lenient.TEXT, Lenient.SKIPPED):
            self._leave_out(name)

    def _choose(self, name: str, attributes: Mapping[str, str]) -> None:
        """What an element changes for what it holds."""
        if name == "break":
            self._flow.pause(self._break_s(attributes))
        if tag := attributes.get("xml:lang", "").strip():
            self._speak_language(tag)
        elif name == "lang":
            self._leave_out("lang")
        if name in ("voice", "media"):
            self._flow.space()
        if name == "voice":
            self._speak_as(attributes.get("name", "").strip())
        elif name == "prosody":
            self._speak_with(attributes)
        elif name in _MARKS:
            self._mark(name, attributes.get(_MARKS[name], "").strip())

    def _speak_with(self, attributes: Mapping[str, str]) -> None:
        voicing = self._flow.voicing
        if is_silent(attributes.get("volume", "")):
            self._leave_out("prosody volume silent")
            return
        if "rate" in attributes:
            speed = self._prosody("rate", lambda: rate_of(attributes["rate"], voicing.speed))
            self._flow.voicing = replace(self._flow.voicing, speed=voicing.speed if speed is None else speed)
        if "volume" in attributes:
            gain_db = self._prosody("volume", lambda: gain_of(attributes["volume"], voicing.gain_db))
            self._flow.voicing = replace(self._flow.voicing, gain_db=voicing.gain_db if gain_db is None else gain_db)

    def _prosody(self, attribute: str, wanted: Callable[[], float]) -> float | None:
        """What is asked for, or what comes nearest to it; what says nothing changes nothing."""
        try:
            return wanted()
        except ProsodyUnusable as error:
            self._leave_out(f"prosody {attribute}")
            return error.nearest

    def _mark(self, element: str, name: str) -> None:
        if name and len(name) <= MAX_MARK_CHARS:
            self._flow.mark(name)
        else:
            self._leave_out(element)

    def _break_s(self, attributes: Mapping[str, str]) -> float:
        try:
            return break_s(attributes)
        except SsmlRefused:
            self._leave_out("break time" if "time" in attributes else "break strength")
            is_long = attributes.get("time", "").strip().rstrip("ms").replace(".", "", 1).isdigit()
            return MAX_BREAK_S if is_long else BREAK_STRENGTHS_S[DEFAULT_BREAK]

    def _speak_language(self, tag: str) -> None:
        known, language = self._abilities.languages, language_name(tag)
        if language is None or (known is not None and language not in known):
            self._leave_out(f"language {tag[:_LONGEST_NAME]}")
        else:
            self._flow.voicing = replace(self._flow.voicing, language=language)

    def _speak_as(self, name: str) -> None:
        known = self._abilities.voices
        if not name or (known is not None and name not in known):
            self._leave_out(f"voice {name[:_LONGEST_NAME]}".strip())
        else:
            self._flow.voicing = replace(self._flow.voicing, speaker=name)

    def _say_held(self, held: _Held) -> None:
        text = "".join(held.parts)
        if held.name == "sub":
            spoken = held.attributes.get("alias", "").strip() or None
            kind = "sub"
        else:
            language = self._flow.voicing.language
            spoken = self._abilities.say_as(_kind(held.attributes), _format(held.attributes), text.strip(), language)
            kind = f"say-as {_kind(held.attributes)}".strip()
        if spoken is None:
            self._leave_out(kind)
            self._flow.text(text)
        else:
            self._flow.text_as(text, spoken)

    def _leave_out(self, kind: str) -> None:
        line, column = self.place
        self._flow.left_out.add(kind, f"line {line}, column {column}")


def _kind(attributes: Mapping[str, str]) -> str:
    return attributes.get("interpret-as", "").strip().lower()[:_LONGEST_NAME]


def _format(attributes: Mapping[str, str]) -> str:
    return attributes.get("format", "").strip().lower()[:_LONGEST_NAME]


def _check_doctype(_name: str, _system: str | None, _public: str | None, has_subset: int) -> None:
    """One that only names the kind of document is common; entities are none of ours."""
    if has_subset:
        raise SsmlRefused("a document type declaration must not declare anything")
