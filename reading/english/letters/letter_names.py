"""Letters that are read one by one, by their names: "the F B I" as "the eff bee eye".

A checkpoint that learned from words alone has never seen a letter that stands for itself. The small voice says "U S B"
as "use of", and "you ess bee" as it should.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from reading.english.front_end import respell_english
from reading.script.script import Replacement

LETTER_NAMES = dict(
    zip(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        (
            *("ay", "bee", "see", "dee", "ee", "eff", "jee", "aitch", "eye", "jay", "kay", "ell", "em"),
            *("en", "oh", "pee", "cue", "ar", "ess", "tee", "you", "vee", "double you", "ex", "why", "zee"),
        ),
        strict=True,
    )
)
_LETTERS = re.compile(r"(?<![\w'’.-])[A-Z](?: [A-Zch](?!\w)){0,40}(?P<plural>'?s)?(?![\w'’.])")
"""A degree has small ones in it: P h D."""

_WORDS = frozenset({"A", "I"})
"""Alone they are words."""


def respell_english_by_name(text: str, start: int, end: int) -> Iterator[Replacement]:
    """As `respell_english`."""
    for each in respell_english(text, start, end):
        yield replace(each, spoken=_LETTERS.sub(_named, each.spoken))


def _named(match: re.Match[str]) -> str:
    plural = match["plural"] or ""
    letters = match.group().removesuffix(plural)
    if letters in _WORDS:
        return match.group()
    return " ".join(LETTER_NAMES[letter.upper()] for letter in letters.split()) + plural
