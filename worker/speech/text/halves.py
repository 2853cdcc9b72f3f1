"""A segment's text in two: the last attempt at one that was not spoken well in one piece. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from storage.narration.estimates import speech_units

LEAST_UNITS = 15
"""Of a half. Less is hardly a clause, and a checkpoint speaks a word or two worse than a sentence."""

_LEAST_SHARE = 0.25
"""Of the text, that either half has: a word that is cut off leaves the other half as hard as the whole."""

_PLACES = (
    re.compile(r"[.!?…][\"'”’»)\]]?\s|[。！？][」』）】》〉”’]?"),
    re.compile(r"[,;:–—][\"'”’»)\]]?\s|[、，；：]"),
    re.compile(r"(?<=[^\W\d])\s(?=[^\W\d])"),
)
"""Ends of sentences, of clauses, of words; each where there is none of the kind before. Figures stay together."""


def halves(text: str) -> tuple[str, str] | None:
    """Both as they are spoken, cut as near the middle as its marks allow; None for what is too short to be cut."""
    length = speech_units(text)
    least = max(LEAST_UNITS, _LEAST_SHARE * length)
    for pattern in _PLACES:
        cuts = [(text[: place.end()].rstrip(), text[place.end() :].lstrip()) for place in pattern.finditer(text)]
        if found := _most_even(cuts, least):
            return found
    return None


def _most_even(cuts: Iterable[tuple[str, str]], least: float) -> tuple[str, str] | None:
    measured = [(speech_units(first), speech_units(second), (first, second)) for first, second in cuts]
    fitting = [(abs(one - two), both) for one, two, both in measured if min(one, two) >= least]
    return min(fitting)[1] if fitting else None
