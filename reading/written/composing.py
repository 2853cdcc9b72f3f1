"""What is said, in segments within the bounds of a model. Pure.

A sentence is a segment; one of a word or two is spoken with the next. One that is too long is cut behind a clause, or
where no room is left.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reading.estimates import speech_units
from reading.plan.plan import closed
from reading.segmenting.clauses import CLAUSE_END
from reading.segmenting.pieces import StretchEnd
from reading.spelling.running_text import RunningSpelling
from reading.written.phrases import Phrase, PhraseReader
from reading.written.sentence_ends import SentenceEnd, SentenceReader
from reading.written.words import Gap, WordReader
from rhapsode.contract.jobs.narration import Narration
from rhapsode.contract.words import is_speakable

LEAST_UNITS = 16
"""Of a sentence that is spoken by itself: a model makes noise of a word alone."""

CLAUSE_SHARE = 0.6
"""From this share of the longest segment on, it ends with a clause."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Of a segment: speech units, and bytes in UTF-8."""

    max_chars: int
    max_bytes: int


@dataclass(frozen=True, slots=True)
class SegmentPiece:
    """text: what is said next of the segment. pause_s: after it; None where the segment goes on."""

    segment: int
    text: str
    pause_s: float | None = None


class SegmentComposer:
    """Pieces of segments as they are known; the joined pieces of one are its text."""

    def __init__(self, narration: Narration, bounds: Bounds, dictionaries: Sequence[bytes]) -> None:
        """Raises `DictionaryDamaged`."""
        self._words = WordReader()
        spelling = RunningSpelling(narration.language, narration.normalization, narration.emoji, dictionaries)
        self._phrases = PhraseReader(SentenceReader(self._words), spelling)
        self._bounds = bounds
        self._pauses = narration.pauses
        self._segment = 0
        self._text = ""
        self._marks = ""
        """What stands before the first word of a sentence and is spoken with it, if one comes."""
        self._is_begun = False
        """Whether the sentence has a word."""
        self._ready: deque[SegmentPiece] = deque()

    def feed(self, text: str, *, is_last: bool) -> None:
        self._words.feed(text, is_last=is_last)

    @property
    def is_over(self) -> bool:
        return self._phrases.is_over and not self._ready and not self._text

    def next(self) -> SegmentPiece | None:
        """None while more has to be written first, and at the end."""
        while not self._ready:
            event = self._phrases.next()
            if event is None:
                if self._text and self._phrases.is_over:
                    self._end_segment(0.0)
                break
            if isinstance(event, Phrase):
                self._say(event)
            else:
                self._end_sentence(event)
        return self._ready.popleft() if self._ready else None

    def _say(self, said: Phrase) -> None:
        gap = said.gap is not Gap.NONE
        for word in said.text.split():
            for part in self._fitting(word):
                self._add(part, gap=gap)
                gap = False
            gap = True

    def _add(self, word: str, *, gap: bool) -> None:
        if not self._is_begun and not is_speakable(word):
            self._marks += f" {word}" if gap else word
            return
        if not self._is_begun:
            word, gap, self._marks = f"{self._marks}{' ' if gap and self._marks else ''}{word}".lstrip(), True, ""
            self._is_begun = True
        piece = f" {word}" if gap and self._text else word
        if self._text and not self._fits(self._text + piece):
            self._end_segment(self._pauses.cut_s, is_cut=True)
            piece = word
        self._text += piece
        self._ready.append(SegmentPiece(self._segment, piece))
        is_long = speech_units(self._text) > CLAUSE_SHARE * self._bounds.max_chars
        if is_long and CLAUSE_END.search(f"{word} ") is not None:
            self._end_segment(self._pauses.cut_s, is_cut=True)

    def _end_sentence(self, end: SentenceEnd) -> None:
        self._marks, self._is_begun = "", False
        if not self._text:
            return
        if end.ending is StretchEnd.PARAGRAPH:
            self._end_segment(self._pauses.paragraph_s)
        elif speech_units(self._text) >= LEAST_UNITS:
            self._end_segment(self._pauses.sentence_s)

    def _end_segment(self, pause_s: float, *, is_cut: bool = False) -> None:
        closing = "" if is_cut else closed(self._text)[len(self._text) :]
        self._ready.append(SegmentPiece(self._segment, closing, pause_s))
        self._segment, self._text = self._segment + 1, ""

    def _fits(self, text: str) -> bool:
        return speech_units(text) <= self._bounds.max_chars and len(text.encode()) <= self._bounds.max_bytes

    def _fitting(self, word: str) -> Iterator[str]:
        """The word, or parts of one that no segment has room for."""
        if self._fits(word):
            yield word
            return
        size = max(1, min(self._bounds.max_chars // 3, self._bounds.max_bytes // 4))
        for at in range(0, len(word), size):
            yield word[at : at + size]
