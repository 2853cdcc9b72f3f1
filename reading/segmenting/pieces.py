"""A stretch of a text on its way to a segment."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class StretchEnd(enum.Enum):
    """What ends a stretch: nothing, or a block of this kind."""

    CUT = "cut"
    """Nothing: the sentence goes on, but was too long, or another speaker says the rest."""

    LINE = "line"
    SENTENCE = "sentence"
    PARAGRAPH = "paragraph"
    ENTRY = "entry"
    """As a paragraph, and nothing is spoken over it."""
    HEADING = "heading"


@dataclass(frozen=True, slots=True)
class Piece:
    """The stretch [start, end) of the text, and the part of it that is spoken.

    breaks: positions in the text where its second sentence begins, its third, and so on.
    """

    start: int
    end: int
    spoken: str
    ending: StretchEnd
    breaks: tuple[int, ...] = ()


def stripped_piece(text: str, start: int, end: int, ending: StretchEnd) -> Piece:
    """The stretch without its outer whitespace."""
    return Piece(start, end, text[start:end].strip(), ending)
