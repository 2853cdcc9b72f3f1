"""Numbers among words, digit by digit, whichever way they were read or written. Pure.

"nineteen eighty-four", "one thousand nine hundred and eighty-four" and "1984" are all `one nine eight four`: a
recogniser writes digits for any of them, and digits do not say how they were read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from reading.numbers.english_words import BEYOND, ONES, SCALES, TENS, digits

DIGIT_WORDS = frozenset(ONES[:10])

_ONES = {word: value for value, word in enumerate(ONES)}
_TENS = {word: 10 * place for place, word in enumerate(TENS, 2)}
_SCALES = {word: value for value, word in SCALES}
_HUNDRED = _SCALES.pop("hundred")
_NUMBER_WORDS = frozenset((*_ONES, *_TENS, *_SCALES, "hundred"))
_SCALE_WORDS = frozenset((*_SCALES, "hundred"))
_NOUGHT = "o"
"""As in "nineteen oh five"."""


def numbers_as_digits(words: Sequence[str]) -> list[str]:
    """words: of letters, or of digits alone. Each stretch of numbers becomes the words of its digits."""
    said: list[str] = []
    run = _Run()
    for place, word in enumerate(words):
        if is_number(word):
            run.add(word)
        elif run and word == _NOUGHT and _number_follows(words, place):
            run.add("zero")
        elif not (_is_filler(words, place)):
            said += run.end()
            said.append(word)
    return [*said, *run.end()]


def is_number(word: str) -> bool:
    """Or a part of one."""
    return word in _NUMBER_WORDS or word.isdigit()


def _number_follows(words: Sequence[str], place: int) -> bool:
    """Behind a nought, or several."""
    following = next((word for word in words[place + 1 : place + 4] if word != _NOUGHT), "")
    return is_number(following)


def _is_filler(words: Sequence[str], place: int) -> bool:
    """The "and" of "two hundred and five", which is said by some, and the "a" of "a hundred", that none writes."""
    following = words[place + 1] if place + 1 < len(words) else ""
    if words[place] == "a":
        return following in _SCALE_WORDS
    return words[place] == "and" and place > 0 and words[place - 1] in _SCALE_WORDS and is_number(following)


@dataclass(slots=True)
class _Run:
    """Numbers one after the other. total: of the number at hand, its thousands and more; group: what is below, None
    while there is none; least: the smallest scale so far; room: what may still be added to the group stays below."""

    found: list[str] = field(default_factory=list[str])
    total: int = 0
    group: int | None = None
    least: int = BEYOND
    room: int = _HUNDRED * 10

    def __bool__(self) -> bool:
        return bool(self.found) or self._is_begun

    @property
    def _is_begun(self) -> bool:
        return self.group is not None or self.total > 0

    def add(self, word: str) -> None:
        if word.isdigit():
            self._digits(word)
        elif word in _SCALES:
            self._scale(_SCALES[word])
        elif word == "hundred":
            self._hundred()
        elif word in _TENS:
            self._part(_TENS[word], _HUNDRED, 10)
        else:
            value = _ONES[word]
            self._part(value, 10 if value < 10 else _HUNDRED, 0)

    def end(self) -> list[str]:
        """The words of all digits; the run is empty then."""
        self._close()
        said = digits("".join(self.found)).split()
        self.found.clear()
        return said

    def _digits(self, written: str) -> None:
        if self._is_begun and (self.group is not None or len(written) > 3):
            self._close()
        if written.startswith("0") or len(written) > 12:
            self._close()
            self.found.append(written)
        else:
            self.group, self.room = int(written), 0

    def _part(self, value: int, needed: int, room: int) -> None:
        """needed: the room that the value takes. room: what it leaves."""
        if value == 0 or self.room < needed:
            self._close()
        self.group, self.room = (self.group or 0) + value, room
        if value == 0:
            self._close()

    def _hundred(self) -> None:
        if self.group is not None and self.group < _HUNDRED:
            self.group *= _HUNDRED
        else:
            if self.group is not None:
                self._close()
            self.group = _HUNDRED
        self.room = _HUNDRED

    def _scale(self, size: int) -> None:
        if size >= self.least:
            group, self.group = self.group, None
            self._close()
            self.group = group
        self.total += (1 if self.group is None else self.group) * size
        self.group, self.least, self.room = None, size, _HUNDRED * 10

    def _close(self) -> None:
        """The number at hand is complete."""
        if self._is_begun:
            self.found.append(str(self.total + (self.group or 0)))
        self.total, self.group, self.least, self.room = 0, None, BEYOND, _HUNDRED * 10
