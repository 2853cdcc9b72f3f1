"""Characters in any pieces to words. Pure."""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass

from reading.estimates import SYLLABIC
from rhapsode.contract.words import MAX_WORD_CHARS

_UNSPACED = rf"(?![가-힣])[{SYLLABIC}]"
_WORD = re.compile(rf"{_UNSPACED}[^\w\s]{{0,16}}|(?:(?!{_UNSPACED})\S){{1,{MAX_WORD_CHARS}}}")
"""In scripts without spaces a character with the marks after it."""

_BLANKS = re.compile(r"\s*")
_PARAGRAPHS = "\u2029"


class Gap(enum.Enum):
    """What stands before a word."""

    NONE = ""
    SPACE = " "
    PARAGRAPH = "\n\n"


@dataclass(frozen=True, slots=True)
class Word:
    text: str
    gap: Gap

    @property
    def source(self) -> str:
        return self.gap.value + self.text


class WordReader:
    """A word is known when a character after it is, or the text's end."""

    def __init__(self) -> None:
        self._text, self._at = "", 0
        self._unread: list[str] = []
        self._is_closed = False
        self._num_breaks = 0
        self._gap = Gap.NONE

    def feed(self, text: str, *, is_last: bool) -> None:
        if not self._is_closed:
            self._unread.append(text)
            self._is_closed = is_last

    @property
    def is_over(self) -> bool:
        return self._is_closed and not self._unread and self._at == len(self._text)

    def next(self) -> Word | None:
        """None while it is not known, and at the end."""
        found = self._found()
        if found is None and self._unread:
            # What is left of the text before is less than a word, so that all of this is read once.
            self._text, self._at = "".join((self._text[self._at :], *self._unread)), 0
            self._unread.clear()
            found = self._found()
        return found

    def _found(self) -> Word | None:
        self._pass_blanks()
        match = _WORD.match(self._text, self._at)
        if match is None or (match.end() == len(self._text) and not (self._is_closed and not self._unread)):
            return None
        word = Word(match.group(), self._gap)
        self._at, self._gap, self._num_breaks = match.end(), Gap.NONE, 0
        return word

    def _pass_blanks(self) -> None:
        blanks = _BLANKS.match(self._text, self._at)
        if blanks is None or not blanks.group():
            return
        self._num_breaks += blanks.group().count("\n") + 2 * blanks.group().count(_PARAGRAPHS)
        self._gap = Gap.PARAGRAPH if self._num_breaks > 1 else Gap.SPACE
        self._at = blanks.end()
