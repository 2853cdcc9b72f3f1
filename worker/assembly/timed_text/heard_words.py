"""A sentence as words that a line can end behind, each with its time. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from reading.estimates import speech_units
from storage.segments.timeline import TimeSpan
from worker.assembly.timed_text.cues import MAX_COLUMNS, HeardWord, columns

_WORD = re.compile(r"\S+")
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\uff66-\uff9f\U00020000-\U0003ffff]"
)
"""Thai, Lao, Burmese, Khmer, Chinese and Japanese: between any two of their characters a line can end."""


@dataclass(frozen=True, slots=True)
class TimedStretch:
    """[start, end) of a text sounds in `span`."""

    start: int
    end: int
    span: TimeSpan


def heard_words(text: str, heard: Sequence[TimedStretch]) -> tuple[HeardWord, ...]:
    """The words of a sentence, or of several. The gap between two timed stretches is shared by both.

    heard: stretches of the text in order, such as words, or the whole of it. Inside of each the time goes on evenly
    with what there is to say.
    """
    clock = _Clock(text, heard)
    words: list[HeardWord] = []
    end = 0
    for start, stop in _unbroken(text):
        space = " " if words and start > end else ""
        words.append(
            HeardWord(text[start:stop], space, TimeSpan(clock.at(start, is_end=False), clock.at(stop, is_end=True)))
        )
        end = stop
    return tuple(words)


class _Clock:
    """The time of a position of a text."""

    def __init__(self, text: str, heard: Sequence[TimedStretch]) -> None:
        self._starts = [each.start for each in heard]
        self._heard = heard
        self._text = text

    def at(self, position: int, *, is_end: bool) -> float:
        """Where a stretch begins while the one before it has just ended, `is_end` says which is meant."""
        number = max(0, int(np.searchsorted(self._starts, position, "left" if is_end else "right")) - 1)
        each = self._heard[number]
        before, whole = self._text[each.start : min(position, each.end)], self._text[each.start : each.end]
        share = speech_units(before) / max(1, speech_units(whole))
        return each.span.start_s + share * each.span.duration_s


def _unbroken(text: str) -> Iterator[tuple[int, int]]:
    """Stretches that stay on one line; what is longer than a line is cut where it is full."""
    for match in _WORD.finditer(text):
        start = match.start()
        for stop in _places(text, match.start(), match.end()):
            if stop > start:
                yield from _lines_of(text, start, stop)
            start = stop


def _places(text: str, start: int, end: int) -> Iterator[int]:
    """Where a run without spaces can be parted: around each character of a script that has none."""
    for position in range(start + 1, end):
        is_mark = unicodedata.category(text[position]) in ("Mn", "Mc", "Me")
        if not is_mark and (_UNSPACED.match(text[position - 1]) or _UNSPACED.match(text[position])):
            yield position
    yield end


def _lines_of(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    width, first = 0, start
    for position in range(start, end):
        width += columns(text[position])
        if width > MAX_COLUMNS:
            yield first, position
            width, first = columns(text[position]), position
    yield first, end
