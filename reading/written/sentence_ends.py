"""Where the sentences of a text that is being written end. Pure.

A word without a mark at its end ends none, unless a paragraph does; of the others it is known two words later, or when
the text is over.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass

from reading.segmenting.pieces import StretchEnd
from reading.segmenting.sentences import sentences
from reading.written.words import Gap, Word, WordReader

LOOK_AHEAD = 2
"""Words behind a mark that decide whether it ends a sentence."""

LOOK_BACK = 240
"""Characters before it that do."""

_MARK = re.compile(r"[.!?…。！？｡][\"'”’»“«」』）】》〉〕］)\]]*\Z")


@dataclass(frozen=True, slots=True)
class SentenceEnd:
    ending: StretchEnd


class SentenceReader:
    """Words as they are known, and `SentenceEnd` between them and at the end."""

    def __init__(self, words: WordReader) -> None:
        self._words = words
        self._waiting: deque[Word] = deque()
        self._before = ""
        self._ready: deque[Word | SentenceEnd] = deque()
        self._is_open = False
        """Whether a sentence was begun."""

    @property
    def is_over(self) -> bool:
        return self._words.is_over and not self._waiting and not self._ready and not self._is_open

    def next(self) -> Word | SentenceEnd | None:
        while not self._ready and self._step():
            pass
        return self._ready.popleft() if self._ready else None

    def _step(self) -> bool:
        """Whether anything became known."""
        if not self._look(0):
            if self._is_open and self._words.is_over:
                self._end(StretchEnd.PARAGRAPH)
            return bool(self._ready)
        word = self._waiting[0]
        if word.gap is Gap.PARAGRAPH and self._is_open:
            self._end(StretchEnd.PARAGRAPH)
            return True
        if _MARK.search(word.text) is None:
            self._take()
            return True
        if not self._knows_what_follows():
            return False
        ends = self._ends()
        self._take()
        if ends:
            self._end(StretchEnd.SENTENCE)
        return True

    def _take(self) -> None:
        word = self._waiting.popleft()
        self._before = f"{self._before}{word.source}"[-LOOK_BACK:]
        self._is_open = True
        self._ready.append(word)

    def _end(self, ending: StretchEnd) -> None:
        self._ready.append(SentenceEnd(ending))
        self._before, self._is_open = "", False

    def _look(self, number: int) -> bool:
        """Whether the word of this number behind those that were handed out is known."""
        while len(self._waiting) <= number:
            word = self._words.next()
            if word is None:
                return False
            self._waiting.append(word)
        return True

    def _knows_what_follows(self) -> bool:
        for number in range(1, LOOK_AHEAD + 1):
            if not self._look(number):
                return self._words.is_over
            if self._waiting[number].gap is Gap.PARAGRAPH:
                return True
        return True

    def _ends(self) -> bool:
        """Whether the first of those that wait ends a sentence of its paragraph, which goes on after it."""
        upto = f"{self._before}{self._waiting[0].source}".lstrip()
        following: list[str] = []
        for word in list(self._waiting)[1 : LOOK_AHEAD + 1]:
            if word.gap is Gap.PARAGRAPH:
                break
            following.append(word.source)
        if not following:
            return False
        text = upto + "".join(following)
        return any(piece.end == len(upto) + len(_gap(following[0])) for piece in sentences(text, 0, len(text)))


def _gap(source: str) -> str:
    return source[: len(source) - len(source.lstrip())]
