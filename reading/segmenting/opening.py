"""The first segment of a narration is short, so that listening begins at once. Pure.

It ends with a sentence if one ends soon, else with a clause. A first sentence without either stays whole: a breath in
the wrong place is worse than a second of waiting.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reading.estimates import speech_units
from reading.segmenting.clauses import CLAUSE_END
from reading.segmenting.pieces import Piece, StretchEnd, stripped_piece

LEAST_SHARE = 3
"""Neither the opening nor what it leaves of its paragraph is shorter than a third of the length aimed at: a model that
reads sentences makes noise of a word."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the opening may end: behind `length` speech units, at `cut` in a sentence or, if None, at its end."""

    length: int
    sentence: int
    cut: int | None = None


def opened(text: str, sentences: Sequence[Piece], wanted: int) -> tuple[list[Piece], list[Piece]]:
    """The pieces of the first segment, and those that follow; the first list is empty if nothing is to be divided.

    sentences: of the first paragraph, in order, within the bounds of a segment. wanted: speech units.
    """
    total, least = sum(speech_units(piece.spoken) for piece in sentences), wanted // LEAST_SHARE
    if total <= wanted + least:
        return [], list(sentences)
    places = [each for each in _places(text, sentences, wanted) if least <= each.length <= total - least]
    soon = [each for each in places if each.length <= wanted]
    ends = [each for each in places if each.cut is None]
    best = [each for each in ends if each.length <= wanted][-1:] or soon[-1:] or ends[:1]
    if not best:
        return [], list(sentences)
    return _divided(text, sentences, best[0])


def _places(text: str, sentences: Sequence[Piece], wanted: int) -> Iterator[_Place]:
    """In order, up to the first sentence that ends behind `wanted`."""
    before = 0
    for number, piece in enumerate(sentences):
        for cut, length in _clause_ends(text, piece):
            yield _Place(before + length, number, cut)
        before += speech_units(piece.spoken)
        yield _Place(before, number)
        if before >= wanted:
            return


def _clause_ends(text: str, piece: Piece) -> Iterator[tuple[int, int]]:
    """Behind each clause mark in the piece: where, and how much of the piece is said before."""
    start = text.index(piece.spoken[0], piece.start)
    end, length = start + len(piece.spoken), 0
    for match in CLAUSE_END.finditer(text, start, end):
        length += speech_units(text[start : match.end()])
        start = match.end()
        if start < end:
            yield start, length


def _divided(text: str, sentences: Sequence[Piece], place: _Place) -> tuple[list[Piece], list[Piece]]:
    number = place.sentence
    if place.cut is None:
        return list(sentences[: number + 1]), list(sentences[number + 1 :])
    piece = sentences[number]
    head = stripped_piece(text, piece.start, place.cut, StretchEnd.CUT)
    rest = stripped_piece(text, place.cut, piece.end, piece.ending)
    return [*sentences[:number], head], [rest, *sentences[number + 1 :]]
