"""The text of a stream on its way to the engine: pieces of segments."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class TextPiece:
    """What is spoken next. All pieces of a segment joined are its text.

    is_last: of its segment. pause_s: silence after it, if another segment follows; known with the last piece.
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


class PeekedText:
    """A stream's text, of which what comes next may be looked at. What was looked at stays next."""

    def __init__(self, source: TextSource) -> None:
        self._source = source
        self._peeked: deque[TextPiece] = deque()

    def feed(self, text: str, *, is_last: bool) -> None:
        self._source.feed(text, is_last=is_last)

    def peek(self) -> TextPiece | None:
        if not self._peeked and (piece := self._source.next()) is not None:
            self._peeked.append(piece)
        return self._peeked[0] if self._peeked else None

    def next(self) -> TextPiece | None:
        return self._peeked.popleft() if self._peeked else self._source.next()

    def has_whole_segment(self) -> bool:
        """Whether all of the next segment is known."""
        while not (self._peeked and self._peeked[-1].is_last):
            piece = self._source.next()
            if piece is None:
                return False
            self._peeked.append(piece)
        return True

    @property
    def is_over(self) -> bool:
        return self._source.is_over and not self._peeked
