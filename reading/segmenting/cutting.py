"""Stretches that fit: sentences above a cap are cut, short ones are joined. Pure.

A sentence above the cap is cut at a clause mark, else at whitespace (`clauses` says which is best), else between two
characters. All lengths are in speech units (`reading.estimates`): a Chinese, Japanese or Korean character counts three.
So equal numbers mean about equal seconds in every script, and no stretch has more code points than the cap. A stretch
that is within the cap but has too many bytes for the model is cut once more, by bytes.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import replace

from reading.estimates import speech_units
from reading.segmenting.clauses import Clauses, clauses_of
from reading.segmenting.lengths import LengthRules
from reading.segmenting.pieces import Piece, StretchEnd, stripped_piece
from rhapsode.contract.words import is_speakable

CLUSTER_SEARCH = 64
"""How far back a forced cut looks for the start of a character cluster. A longer pile of combining marks is cut."""

_Measure = Callable[[str], int]
"""Speech units or bytes of a text; of a text in two parts, the sum of theirs."""


def capped(text: str, sentences: Iterator[Piece], segmentation: LengthRules) -> Iterator[Piece]:
    """The same text in pieces that are within the bounds."""
    for sentence in sentences:
        for piece in _cut(text, sentence, segmentation.max_chars, speech_units):
            if segmentation.max_bytes is None:
                yield piece
            else:
                yield from _cut(text, piece, segmentation.max_bytes, _num_bytes)


def _num_bytes(text: str) -> int:
    return len(text.encode())


def _cut(text: str, sentence: Piece, cap: int, measure: _Measure) -> Iterator[Piece]:
    """Pieces of about equal length within the cap; whitespace around the sentence stays with its outer pieces."""
    remaining = measure(sentence.spoken)
    if remaining <= cap:
        yield sentence
        return
    start = sentence.start
    content = text.index(sentence.spoken[0], start)
    stop = content + len(sentence.spoken)
    clauses = clauses_of(text, content, stop)
    while remaining > cap:
        ideal = remaining / -(-remaining // cap)
        cut = _cut_position(clauses, range(content, stop), ideal, cap, measure)
        yield stripped_piece(text, start, cut, StretchEnd.CUT)
        remaining -= measure(text[content:cut])
        start = content = cut
    yield stripped_piece(text, start, sentence.end, sentence.ending)


def _cut_position(clauses: Clauses, stretch: range, ideal: float, cap: int, measure: _Measure) -> int:
    """Where to end the piece that starts the stretch: at a good place, and near to `ideal`.

    Half of the ideal length further away weighs as much as the next worse kind of place.
    """
    text = clauses.text
    nearest, furthest = _reach(text, stretch, ideal / 2, measure), _reach(text, stretch, cap, measure)
    wanted = _reach(text, stretch, ideal, measure)
    places = [
        place
        for place in clauses.places(nearest, furthest)
        if place.position < furthest or _is_cluster_start(text, place.position)
    ]
    if not places:
        return _cluster_start(text, stretch.start, wanted)
    step = max(1, wanted - stretch.start) / 2
    return min(places, key=lambda place: place.rank + abs(place.position - wanted) / step).position


def _reach(text: str, stretch: range, length: float, measure: _Measure) -> int:
    """The furthest position whose distance from the start is at most `length`; at least one character on."""
    position = stretch.start + 1
    spent = measure(text[stretch.start])
    while position < stretch.stop:
        spent += measure(text[position])
        if spent > length:
            break
        position += 1
    return position


def _cluster_start(text: str, start: int, position: int) -> int:
    """The last position up to `position` at which no character is torn apart, if one is near."""
    for place in range(position, max(start, position - CLUSTER_SEARCH), -1):
        if _is_cluster_start(text, place):
            return place
    return position


def _is_cluster_start(text: str, position: int) -> bool:
    """Whether a cut here leaves marks, joined emoji, flags, jamo and line ends whole; near Unicode's annex 29."""
    if position >= len(text):
        return True
    before, after = text[position - 1], text[position]
    is_joined = (
        unicodedata.category(after)[0] == "M"
        or "\u200d" in (before, after)
        or "\U0001f3fb" <= after <= "\U0001f3ff"
        or "\U000e0020" <= after <= "\U000e007f"
        or (before == "\r" and after == "\n")
        or "\u1160" <= after <= "\u11ff"
    )
    return not is_joined and not _splits_flag(text, position)


def _splits_flag(text: str, position: int) -> bool:
    """Flags are pairs of regional indicators: an odd number of them before the cut leaves half a flag."""
    first = position
    while first > max(0, position - CLUSTER_SEARCH) and "\U0001f1e6" <= text[first - 1] <= "\U0001f1ff":
        first -= 1
    return (position - first) % 2 == 1 and "\U0001f1e6" <= text[position] <= "\U0001f1ff"


def packed(text: str, pieces: Iterator[Piece], segmentation: LengthRules) -> Iterator[Piece]:
    """Join neighbours while that brings the length nearer to the target."""
    current: Piece | None = None
    for piece in pieces:
        if current is None:
            current = piece
            continue
        joined = _joined(text, current, piece)
        if _is_better_joined(current, joined, segmentation):
            current = joined
        else:
            yield current
            current = piece
    if current is not None:
        yield current


def _joined(text: str, current: Piece, piece: Piece) -> Piece:
    """A row of dots is no separate sentence, nor is the rest of one that was cut."""
    begins = current.ending is not StretchEnd.CUT and is_speakable(current.spoken) and is_speakable(piece.spoken)
    breaks = (*current.breaks, *((piece.start,) if begins else ()), *piece.breaks)
    return replace(stripped_piece(text, current.start, piece.end, piece.ending), breaks=breaks)


def _is_better_joined(alone: Piece, joined: Piece, segmentation: LengthRules) -> bool:
    length = speech_units(joined.spoken)
    if length > segmentation.max_chars:
        return False
    if segmentation.max_bytes is not None and _num_bytes(joined.spoken) > segmentation.max_bytes:
        return False
    target = segmentation.target_chars
    return length <= target or length - target < target - speech_units(alone.spoken)
