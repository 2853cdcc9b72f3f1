"""Where the words of a text are. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from reading.english.front_end import respell_english
from reading.estimates import SYLLABIC
from reading.spelling.spoken import SpokenText

_RUN = re.compile(f"[{SYLLABIC}]|[^\\s—–…{SYLLABIC}]+")
_KEPT = frozenset("%#@&*+")
"""Marks that are said, or belong to a name: 5 %, #1, C++."""


@dataclass(frozen=True, slots=True)
class AlignedWord:
    """[start, end) of a text, without the marks around it."""

    start: int
    end: int
    text: str


def words_of(text: str) -> Iterator[AlignedWord]:
    """What stands between spaces or dashes and holds a letter, digit or sign; a Chinese or Japanese character alone."""
    for match in _RUN.finditer(text):
        start, end = match.span()
        while start < end and _is_outer(text[start]):
            start += 1
        while end > start and _is_outer(text[end - 1]):
            end -= 1
        if start < end:
            yield AlignedWord(start, end, text[start:end])


def said_in_english(text: str) -> str:
    """As it sounds, also for a model that is given digits and signs as they are written."""
    return SpokenText(text, list(respell_english(text, 0, len(text)))).text


def _is_outer(sign: str) -> bool:
    return sign not in _KEPT and unicodedata.category(sign)[0] in "PCZ"
