"""Cut a text into segments of a few seconds of speech. Pure: text in, plan out.

Paragraphs end at blank lines. Inside one, sentences are found by nupunkt (scripts that put spaces between words)
and by a rule of our own for Chinese and Japanese; a boundary is taken back when what follows starts in lower
case or with a dash, because a pause inside a sentence is heard and a missing one is not. Sentences are packed
towards a target length, never across paragraphs. A sentence above the cap is cut at a clause mark, else at
whitespace, else between two characters.

All lengths are in speech units (`storage.estimates`): a Chinese, Japanese or Korean character counts three, so
that the same numbers mean about the same seconds in every script, and no segment has more code points than the
cap. A piece that is within the cap but has too many bytes for the model is cut once more, by bytes.
"""

from __future__ import annotations

import enum
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Protocol, cast

from storage.estimates import SYLLABIC, is_speakable, speech_units
from storage.jobs import Pauses, Segmentation
from storage.plan import PlannedSegment

CLUSTER_SEARCH = 64
"""How far back a forced cut looks for the start of a character cluster. A longer pile of combining marks is cut."""

_BLANK_LINE = re.compile(r"\n[^\S\n]*\n\s*|\u2029\s*")
_CJK_END = re.compile(rf"(?:[。！？｡]|(?<=[{SYLLABIC}])[!?…])[。！？｡!?…]*[」』）】》〉〕］”’\"')\]]*")
_QUOTATIVE = re.compile(r"と|って|など|[、，」』）】》〉〕］]")
"""After a closing quote these go on with the sentence that holds the quotation."""
_NO_SENTENCE_START = re.compile(r"[-‐-―−~,;:.!?…、，。；：！？)\]}»”’]")
_CLAUSE_END = re.compile(r"[,;:)\]–—…][\"'”’»]*(?=\s)|[、，；：—…]+[」』）】》〉”’]*")
_WHITESPACE = re.compile(r"\s")

_Measure = Callable[[str], int]
"""Speech units or bytes of a text; of a text in two parts, the sum of theirs."""


class NothingToSpeak(ValueError):
    """The text has no letter and no digit."""


class _Ending(enum.Enum):
    SENTENCE = "sentence"
    PARAGRAPH = "paragraph"
    CUT = "cut"
    """Inside a sentence, because it was too long."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """The stretch [start, end) of the text, and the part of it that is spoken."""

    start: int
    end: int
    spoken: str
    ending: _Ending


class _Tokenizer(Protocol):
    def span_tokenize(self, text: str) -> Iterator[tuple[int, int]]: ...


def plan_segments(text: str, segmentation: Segmentation, pauses: Pauses) -> tuple[PlannedSegment, ...]:
    """The segments of `text`, covering it exactly and in order.

    A stretch without anything to speak (`* * *`, a row of dashes) belongs to a neighbour's range but not to
    what the neighbour speaks. Raises `NothingToSpeak` if that is the whole text.
    """
    if not is_speakable(text):
        raise NothingToSpeak("the text has no letter and no digit")
    pieces = [
        piece
        for start, end in _paragraphs(text)
        for piece in _pack(text, _capped(text, _sentences(text, start, end), segmentation), segmentation)
    ]
    spoken = _absorb_unspeakable(pieces)
    seconds = {_Ending.SENTENCE: pauses.sentence_s, _Ending.PARAGRAPH: pauses.paragraph_s, _Ending.CUT: 0.0}
    last = len(spoken) - 1
    return tuple(
        PlannedSegment(index, piece.start, piece.end, piece.spoken, 0.0 if index == last else seconds[piece.ending])
        for index, piece in enumerate(spoken)
    )


def _paragraphs(text: str) -> Iterator[tuple[int, int]]:
    """Ranges that end behind the blank lines."""
    start = 0
    for match in _BLANK_LINE.finditer(text):
        yield start, match.end()
        start = match.end()
    if start < len(text):
        yield start, len(text)


def _sentences(text: str, start: int, end: int) -> Iterator[_Piece]:
    """The sentences of the paragraph [start, end); the last one ends the paragraph."""
    paragraph = text[start:end]
    cuts = sorted({*_spaced_ends(paragraph), *_cjk_ends(paragraph)} - {0, len(paragraph)})
    bounds = [0, *cuts, len(paragraph)]
    for number, (first, last) in enumerate(pairwise(bounds)):
        ending = _Ending.PARAGRAPH if number == len(cuts) else _Ending.SENTENCE
        yield _piece(text, start + first, start + last, ending)


def _spaced_ends(paragraph: str) -> Iterator[int]:
    for _, end in _nupunkt().span_tokenize(paragraph):
        end = _behind_whitespace(paragraph, end)
        if end < len(paragraph) and not _continues(paragraph, end):
            yield end


def _cjk_ends(paragraph: str) -> Iterator[int]:
    for match in _CJK_END.finditer(paragraph):
        is_quote = match.group()[-1] in "」』）】》〉〕］”’"
        if is_quote and _QUOTATIVE.match(paragraph, match.end()):
            continue
        end = _behind_whitespace(paragraph, match.end())
        if end < len(paragraph) and not _NO_SENTENCE_START.match(paragraph, end):
            yield end


def _continues(paragraph: str, position: int) -> bool:
    return paragraph[position].islower() or _NO_SENTENCE_START.match(paragraph, position) is not None


def _behind_whitespace(text: str, position: int) -> int:
    while position < len(text) and text[position].isspace():
        position += 1
    return position


def _capped(text: str, sentences: Iterator[_Piece], segmentation: Segmentation) -> Iterator[_Piece]:
    for sentence in sentences:
        for piece in _cut(text, sentence, segmentation.max_chars, speech_units):
            if segmentation.max_bytes is None:
                yield piece
            else:
                yield from _cut(text, piece, segmentation.max_bytes, _num_bytes)


def _num_bytes(text: str) -> int:
    return len(text.encode())


def _cut(text: str, sentence: _Piece, cap: int, measure: _Measure) -> Iterator[_Piece]:
    """Pieces of about equal length within the cap; whitespace around the sentence stays with its outer pieces."""
    remaining = measure(sentence.spoken)
    if remaining <= cap:
        yield sentence
        return
    start = sentence.start
    content = text.index(sentence.spoken[0], start)
    stop = content + len(sentence.spoken)
    while remaining > cap:
        ideal = remaining / -(-remaining // cap)
        cut = _cut_position(text, range(content, stop), ideal, cap, measure)
        yield _piece(text, start, cut, _Ending.CUT)
        remaining -= measure(text[content:cut])
        start = content = cut
    yield _piece(text, start, sentence.end, sentence.ending)


def _cut_position(text: str, stretch: range, ideal: float, cap: int, measure: _Measure) -> int:
    """Where to end the piece that starts the stretch: the clause mark, else the whitespace, nearest to `ideal`."""
    nearest, furthest = _reach(text, stretch, ideal / 2, measure), _reach(text, stretch, cap, measure)
    wanted = _reach(text, stretch, ideal, measure)
    for marks in (_CLAUSE_END, _WHITESPACE):
        places = [match.end() for match in marks.finditer(text, nearest, furthest)]
        places = [place for place in places if place < furthest or _is_cluster_start(text, place)]
        if places:
            return min(places, key=lambda place: abs(place - wanted))
    return _cluster_start(text, stretch.start, wanted)


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


def _pack(text: str, pieces: Iterator[_Piece], segmentation: Segmentation) -> Iterator[_Piece]:
    """Join neighbours while that brings the length nearer to the target."""
    current: _Piece | None = None
    for piece in pieces:
        if current is None:
            current = piece
            continue
        joined = _piece(text, current.start, piece.end, piece.ending)
        if _is_better_joined(current, joined, segmentation):
            current = joined
        else:
            yield current
            current = piece
    if current is not None:
        yield current


def _is_better_joined(alone: _Piece, joined: _Piece, segmentation: Segmentation) -> bool:
    length = speech_units(joined.spoken)
    if length > segmentation.max_chars:
        return False
    if segmentation.max_bytes is not None and _num_bytes(joined.spoken) > segmentation.max_bytes:
        return False
    target = segmentation.target_chars
    return length <= target or length - target < target - speech_units(alone.spoken)


def _absorb_unspeakable(pieces: Sequence[_Piece]) -> list[_Piece]:
    """Give every stretch without letters or digits to the piece before it, at the beginning to the one behind."""
    kept: list[_Piece] = []
    start = 0
    for piece in pieces:
        if is_speakable(piece.spoken):
            kept.append(replace(piece, start=start))
        elif kept:
            kept[-1] = replace(kept[-1], end=piece.end, ending=piece.ending)
        start = kept[-1].end if kept else 0
    return kept


def _piece(text: str, start: int, end: int, ending: _Ending) -> _Piece:
    return _Piece(start, end, text[start:end].strip(), ending)


@cache
def _nupunkt() -> _Tokenizer:
    """Loaded at first use: the import and the model take tens of milliseconds."""
    import nupunkt

    return cast("_Tokenizer", nupunkt.load_default_model())
