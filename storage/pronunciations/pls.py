"""The W3C's Pronunciation Lexicon Specification, as far as it respells words: graphemes with aliases."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from reading.spelling.rules import PronunciationRule

PLS_NAMESPACE = "http://www.w3.org/2005/01/pronunciation-lexicon"
MEDIA_TYPE = "application/pls+xml"

_SKIPPED = frozenset({"meta", "metadata", "example"})


class PlsError(ValueError):
    """line and column count from 1."""

    def __init__(self, detail: str, line: int, column: int) -> None:
        super().__init__(f"line {line}, column {column}: {detail}")
        self.detail = detail
        self.line = line
        self.column = column


@dataclass(frozen=True, slots=True)
class PlsLexicon:
    """language: what the document says its words are, or ""."""

    language: str
    rules: tuple[PronunciationRule, ...]


def parse_pls(data: bytes) -> PlsLexicon:
    """Graphemes are compared as they are written. Raises `PlsError`; no entity is expanded, nothing is fetched."""
    parser = expat.ParserCreate(namespace_separator=" ")
    reader = _Reader(parser)
    parser.buffer_text = True
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    parser.StartDoctypeDeclHandler = reader.doctype
    try:
        parser.Parse(data, True)  # noqa: FBT003 - takes no keywords
    except expat.ExpatError as error:
        raise PlsError(expat.ErrorString(error.code), error.lineno, error.offset + 1) from error
    return PlsLexicon(reader.language, tuple(reader.rules))


def write_pls(rules: Iterable[PronunciationRule], language: str) -> bytes:
    """A lexicon of these rules. PLS knows no case: rules without case are written once as they are spelt."""
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<lexicon version="1.0" alphabet="ipa" xmlns="{PLS_NAMESPACE}" xml:lang={quoteattr(language or "und")}>',
        *(
            f"  <lexeme><grapheme>{escape(rule.grapheme)}</grapheme><alias>{escape(rule.alias)}</alias></lexeme>"
            for rule in rules
        ),
        "</lexicon>",
    ]
    return ("\n".join(lines) + "\n").encode()


class _Reader:
    def __init__(self, parser: expat.XMLParserType) -> None:
        self._parser = parser
        self._open: list[str] = []
        self._graphemes: list[str] = []
        self._aliases: list[str] = []
        self._text: list[str] = []
        self.language = ""
        self.rules: list[PronunciationRule] = []

    def start(self, name: str, attributes: dict[str, str]) -> None:
        _, _, local = name.rpartition(" ")
        parent = self._open[-1] if self._open else ""
        self._open.append(local)
        if any(each in _SKIPPED for each in self._open):
            return
        match parent, local:
            case "", "lexicon":
                self.language = attributes.get("http://www.w3.org/XML/1998/namespace lang", "")
            case "lexicon", "lexeme":
                self._graphemes, self._aliases = [], []
            case "lexeme", "grapheme" | "alias":
                self._text = []
            case "lexeme", "phoneme":
                raise self._error("phonemes are not supported, as the models read letters; give an <alias>")
            case _:
                raise self._error(f"<{local[:64]}> is not expected here")

    def end(self, name: str) -> None:
        _, _, local = name.rpartition(" ")
        is_skipped = any(each in _SKIPPED for each in self._open)
        self._open.pop()
        if is_skipped:
            return
        if local == "grapheme":
            self._graphemes.append(" ".join("".join(self._text).split()))
        elif local == "alias":
            self._aliases.append(" ".join("".join(self._text).split()))
        elif local == "lexeme":
            self._finish_lexeme()

    def text(self, text: str) -> None:
        self._text.append(text)

    def doctype(self, *_: object) -> None:
        raise self._error("a document type declaration is not allowed")

    def _finish_lexeme(self) -> None:
        if not self._graphemes or not self._aliases:
            raise self._error("a <lexeme> needs a <grapheme> and an <alias>")
        # Of several aliases the first is the preferred one.
        self.rules += [PronunciationRule(grapheme, self._aliases[0]) for grapheme in self._graphemes]

    def _error(self, detail: str) -> PlsError:
        return PlsError(detail, self._parser.CurrentLineNumber, self._parser.CurrentColumnNumber + 1)
