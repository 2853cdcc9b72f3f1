"""An SSML document gone through element by element, whatever is made of them; no entity is expanded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar
from xml.parsers import expat

MAX_DEPTH = 64


class SsmlError(ValueError):
    """line and column count from 1; column is in bytes of UTF-8, as XML parsers count."""

    def __init__(self, detail: str, line: int, column: int) -> None:
        super().__init__(f"line {line}, column {column}: {detail}")
        self.detail = detail
        self.line = line
        self.column = column


class SsmlRefused(Exception):
    """Raised inside a handler, which knows the reason but not the place."""


class ElementReader(Protocol):
    """place: line and column where the last element started; once a handler has raised, the parser says another one."""

    place: tuple[int, int]

    def start(self, name: str, attributes: dict[str, str]) -> None: ...
    def end(self, name: str) -> None: ...
    def text(self, text: str) -> None: ...


R = TypeVar("R", bound=ElementReader)


def read_elements(document: str, reader_of: Callable[[expat.XMLParserType], R]) -> R:
    """The reader, once it has seen all. reader_of: may set handlers of other things. Raises `SsmlError`."""
    parser = expat.ParserCreate(encoding="UTF-8")
    reader = reader_of(parser)
    parser.buffer_text = True
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    try:
        parser.Parse(document.encode(), True)  # noqa: FBT003 - takes no keywords
    except SsmlRefused as error:
        raise SsmlError(str(error), *reader.place) from None
    except expat.ExpatError as error:
        raise SsmlError(expat.ErrorString(error.code), error.lineno, error.offset + 1) from error
    return reader
