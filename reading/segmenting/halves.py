"""A segment's text in two: the last attempt at one that was not spoken well in one piece. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reading.estimates import speech_units
from reading.segmenting.clauses import ClauseCuts, clauses_of
from reading.segmenting.sentences import sentences

LEAST_UNITS = 15
"""Of a half. Less is hardly a clause, and a checkpoint speaks a word or two worse than a sentence."""

_LEAST_SHARE = 0.25
"""Of the text, that either half has: a word that is cut off leaves the other half as hard as the whole."""


def halves(text: str) -> tuple[str, str] | None:
    """Both halves as spoken. The cut is where it is least audible, then as near the middle as possible. None if the
    text is too short, or has no place outside numbers and abbreviations.
    """
    least = max(LEAST_UNITS, _LEAST_SHARE * speech_units(text))
    for positions in _positions(text):
        if found := _most_even(text, positions, least):
            return found
    return None


def _positions(text: str) -> Iterator[list[int]]:
    """Where a second half may begin, alike good ones together and the best first."""
    yield [piece.end for piece in sentences(text, 0, len(text))][:-1]
    places = [place for place in clauses_of(text, 0, len(text)).places(0, len(text)) if place.rank < ClauseCuts.TORN]
    for rank in sorted({place.rank for place in places}):
        yield [place.position for place in places if place.rank == rank]


def _most_even(text: str, positions: Iterable[int], least: float) -> tuple[str, str] | None:
    cuts = [(text[:position].rstrip(), text[position:].lstrip()) for position in positions]
    measured = [(speech_units(first), speech_units(second), (first, second)) for first, second in cuts]
    fitting = [(abs(one - two), both) for one, two, both in measured if min(one, two) >= least]
    return min(fitting)[1] if fitting else None
