"""SSML to a script. The table in `ssml_subset` says what is understood; all else is refused with its place."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from xml.parsers import expat

from reading.languages.names import language_name
from reading.script.prosody import ProsodyUnusable, gain_of, is_silent, rate_of
from reading.script.script import BlockKind, Script, Voicing
from reading.script.ssml_document import MAX_DEPTH, SsmlRefused, read_elements
from reading.script.ssml_subset import (
    BREAK_STRENGTHS_S,
    DEFAULT_BREAK,
    MAX_BREAK_S,
    MAX_MARK_CHARS,
    SPELL_OUT,
    SSML_ELEMENTS,
    SsmlElement,
)
from reading.script.text_flow import TextFlow

_TIME = re.compile(r"\+?(\d{1,6}(?:\.\d{1,6})?|\.\d{1,6})(ms|s)")
BLOCKS = {"speak": BlockKind.PARAGRAPH, "p": BlockKind.PARAGRAPH, "s": BlockKind.SENTENCE}


def parse_ssml(document: str) -> Script:
    """Raises `SsmlError` for what is not well-formed or not understood. No entity is expanded, nothing is fetched."""
    return read_elements(document, _reader).script()


def _reader(parser: expat.XMLParserType) -> _Reader:
    parser.StartDoctypeDeclHandler = _no_doctype
    parser.ProcessingInstructionHandler = _no_instruction
    return _Reader(parser)


class _Reader:
    """Keeps what is open while the parser goes through the document."""

    def __init__(self, parser: expat.XMLParserType) -> None:
        self._parser = parser
        self._flow = TextFlow()
        self._open: list[tuple[str, Voicing]] = []
        self._held: tuple[str, list[str]] | None = None
        self._skipping = 0
        self.place = (1, 1)

    def script(self) -> Script:
        return self._flow.build()

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if self._skipping:
            self._skipping += 1
            return
        self.place = (self._parser.CurrentLineNumber, self._parser.CurrentColumnNumber + 1)
        element = _known(name)
        self._check_place(name)
        _check_attributes(element, attributes)
        self._open.append((name, self._flow.voicing))
        if name == "metadata" or (name == "prosody" and is_silent(attributes.get("volume", ""))):
            self._skipping = 1
        elif name in BLOCKS:
            self._flow.begin_block(BLOCKS[name])
        elif name == "break":
            self._flow.pause(break_s(attributes))
        elif name in ("sub", "say-as"):
            self._held = (_spoken_form(name, attributes), [])
        elif name == "prosody":
            self._flow.voicing = _with_prosody(self._flow.voicing, attributes)
        elif name == "mark":
            self._flow.mark(_mark_name(element, attributes))
        if "xml:lang" in attributes:
            self._flow.voicing = replace(self._flow.voicing, language=_language(attributes["xml:lang"]))
        elif name == "lang":
            raise SsmlRefused("<lang> needs the attribute xml:lang")
        if name == "voice":
            self._flow.voicing = replace(self._flow.voicing, speaker=_required(element, attributes, "name"))

    def end(self, name: str) -> None:
        if self._skipping > 1:
            self._skipping -= 1
            return
        self._skipping = 0
        if self._held is not None:
            self._say_held(*self._held)
        if name == "s":
            self._flow.end_block()
        elif name in BLOCKS:
            self._flow.end_paragraph()
        _, self._flow.voicing = self._open.pop()

    def text(self, text: str) -> None:
        if self._skipping:
            return
        if self._held is not None:
            self._held[1].append(text)
        else:
            self._flow.text(text)

    def _check_place(self, name: str) -> None:
        if (name == "speak") != (not self._open):
            raise SsmlRefused("<speak> must be the outermost element, and only that")
        if len(self._open) >= MAX_DEPTH:
            raise SsmlRefused(f"elements are nested more than {MAX_DEPTH} deep")
        parent = self._open[-1][0] if self._open else ""
        if parent in ("break", "mark", "sub", "say-as"):
            raise SsmlRefused(f"<{parent}> must not hold <{name}>")
        if name == "p" and any(open_name in ("p", "s") for open_name, _ in self._open):
            raise SsmlRefused("<p> must not stand in <p> or <s>")
        if name == "s" and any(open_name == "s" for open_name, _ in self._open):
            raise SsmlRefused("<s> must not stand in <s>")

    def _say_held(self, spoken: str, parts: list[str]) -> None:
        text = "".join(parts)
        self._held = None
        self._flow.text_as(text, spoken or " ".join(character for character in text if not character.isspace()))


def _known(name: str) -> SsmlElement:
    element = SSML_ELEMENTS.get(name)
    if element is None:
        raise SsmlRefused(f"<{name[:64]}> is not supported; /v1/capabilities lists what is")
    if not element.supported:
        raise SsmlRefused(f"<{name}> is not supported: {element.note}")
    return element


def _check_attributes(element: SsmlElement, attributes: dict[str, str]) -> None:
    for name in attributes:
        if name not in element.attributes and not (element.name == "speak" and name.startswith(("xmlns:", "xsi:"))):
            raise SsmlRefused(f"<{element.name}> has no attribute {name[:64]!r} here")


def _required(element: SsmlElement, attributes: dict[str, str], name: str) -> str:
    value = attributes.get(name, "").strip()
    if not value:
        raise SsmlRefused(f"<{element.name}> needs the attribute {name}")
    return value


def _mark_name(element: SsmlElement, attributes: dict[str, str]) -> str:
    name = _required(element, attributes, "name")
    if len(name) > MAX_MARK_CHARS:
        raise SsmlRefused(f"the name of a mark has at most {MAX_MARK_CHARS} characters")
    return name


def _with_prosody(voicing: Voicing, attributes: Mapping[str, str]) -> Voicing:
    if not attributes:
        raise SsmlRefused("<prosody> needs the attribute rate or volume")
    try:
        speed = rate_of(attributes["rate"], voicing.speed) if "rate" in attributes else voicing.speed
        gain_db = gain_of(attributes["volume"], voicing.gain_db) if "volume" in attributes else voicing.gain_db
    except ProsodyUnusable as error:
        raise SsmlRefused(str(error)) from None
    return replace(voicing, speed=speed, gain_db=gain_db)


def _spoken_form(name: str, attributes: dict[str, str]) -> str:
    """What is said in place of the text; "" spells it out."""
    if name == "sub":
        return _required(SSML_ELEMENTS["sub"], attributes, "alias")
    kind = _required(SSML_ELEMENTS["say-as"], attributes, "interpret-as")
    if kind not in SPELL_OUT:
        raise SsmlRefused(f"say-as can interpret as {' or '.join(SPELL_OUT)} only, not as {kind[:64]!r}")
    return ""


def break_s(attributes: Mapping[str, str]) -> float:
    if "time" in attributes:
        match = _TIME.fullmatch(attributes["time"].strip())
        if match is None:
            raise SsmlRefused(f"{attributes['time'][:32]!r} is no time; write 500ms or 1.5s")
        seconds = float(match[1]) / (1000 if match[2] == "ms" else 1)
        if seconds > MAX_BREAK_S:
            raise SsmlRefused(f"a break has at most {MAX_BREAK_S:g} s")
        return seconds
    strength = attributes.get("strength", DEFAULT_BREAK)
    if strength not in BREAK_STRENGTHS_S:
        raise SsmlRefused(f"{strength[:32]!r} is no strength; there is {', '.join(BREAK_STRENGTHS_S)}")
    return BREAK_STRENGTHS_S[strength]


def _language(tag: str) -> str:
    name = language_name(tag)
    if name is None:
        raise SsmlRefused(f"no model speaks the language {tag[:32]!r}")
    return name


def _no_doctype(*_: object) -> None:
    raise SsmlRefused("a document type declaration is not allowed")


def _no_instruction(*_: object) -> None:
    raise SsmlRefused("a processing instruction is not allowed")
