"""The text of a stream on its way to the engine: pieces of segments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class TextPiece:
    """What is spoken next. All pieces of a segment joined are its text.

    is_last: of its segment. pause_s: silence behind it, if another segment follows; known with the last piece.
    """

    segment: int
    text: str
    is_last: bool
    pause_s: float = 0.0


class TextSource(Protocol):
    """A stream's text, read as far as it is wanted. What was handed out stays as it is, whatever comes."""

    def feed(self, text: str, *, is_last: bool) -> None:
        """More of what is written."""
        ...

    def next(self) -> TextPiece | None:
        """None while more has to be written first, and at the end."""
        ...

    @property
    def is_over(self) -> bool:
        """Whether all was handed out."""
        ...
