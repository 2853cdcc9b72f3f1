"""Cues that a person can read: at most two lines of 42 columns and seven seconds each, cut where a reader would. Pure.

The figures are those that broadcasters and film services agree on: 42 columns a line and two lines (Netflix, Timed Text
Style Guide, English), one to seven seconds (BBC Subtitle Guidelines), some twenty characters a second. A wide character
of Chinese, Japanese or Korean takes two columns.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate, pairwise

from reading.languages.function_words import FUNCTION_WORDS
from reading.segmenting.clauses import ClauseCuts, clauses_of
from storage.segments.timeline import TimeSpan

MAX_COLUMNS = 42
MAX_LINES = 2
MAX_CUE_S = 7.0

LEAST_CUE_S = 1.0
"""Whatever is read takes so long; a cue stays until then if nothing follows."""

COLUMNS_PER_S = 20
LEAST_GAP_S = 0.08
"""Two pictures: where cues touch, an eye misses that the text is another."""

LONG_PAUSE_S = 0.7
"""Over a pause of this length no cue goes on: it is between paragraphs, or sets something apart."""

_CUE_COST = 4
"""Of a cue more; as much as a cut before a conjunction, so that cuts at clauses pay and others hardly do."""

_UNEVEN = 6
"""What a cue costs that is almost empty; one half full costs a quarter of it."""

_UNEVEN_LINES = 8
"""Columns by which one line is longer that weigh as much as the next worse kind of place."""

_LINE_END_SHARE = 3
"""A bad end of a line weighs a third of a bad end of a cue: an eye goes on at once."""

_SENTENCE_RANK = -1
"""Of a cut where a sentence ends: better than any clause."""

LABEL_END = ": "

_OPENING = re.compile(r"[(\[{«„“‘「『（【《〈〔［]$")
_CLOSING = re.compile(r"[)\]}»”’」』）】》〉〕］、。，．！？；：・ー…々ゝぁぃぅぇぉっゃゅょァィゥェォッャュョ,.!?;:]")


@dataclass(frozen=True, slots=True)
class HeardWord:
    """Text that is shown in one piece, and its time in the audio. space: what stands between it and the word before."""

    text: str
    space: str
    span: TimeSpan


@dataclass(frozen=True, slots=True)
class HeardSentence:
    """speaker: as the cast calls them, or "". language: as the models name it. pause_s: silence that follows it."""

    words: tuple[HeardWord, ...]
    speaker: str = ""
    language: str = ""
    pause_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Cue:
    """lines: at most two, each of words. label: the speaker's name where another one begins to speak, else ""."""

    span: TimeSpan
    lines: tuple[tuple[HeardWord, ...], ...]
    speaker: str
    label: str


def cues(sentences: Iterable[HeardSentence], *, names_speakers: bool) -> Iterator[Cue]:
    """The cues of a narration in order; none overlaps the next. names_speakers: whether lines begin with names."""
    found: Cue | None = None
    last_speaker = ""
    for passage in _passages(sentences):
        label = passage.speaker if names_speakers and passage.speaker != last_speaker else ""
        last_speaker = passage.speaker
        for cue in _cues_of(passage, label):
            if found is not None:
                yield _shown_long_enough(found, cue.span.start_s)
            found = cue
    if found is not None:
        yield _shown_long_enough(found, found.span.end_s + LEAST_CUE_S)


def columns(text: str) -> int:
    """How wide the text is shown: wide characters count two, marks over others none."""
    return len(text) if text.isascii() else sum(_columns(character) for character in text)


@cache
def _columns(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


@dataclass(frozen=True, slots=True)
class _Passage:
    """Words that one speaker says without a long pause. ends: numbers of words behind which a sentence ends."""

    words: tuple[HeardWord, ...]
    speaker: str
    language: str
    ends: frozenset[int]


def _passages(sentences: Iterable[HeardSentence]) -> Iterator[_Passage]:
    """A sentence by itself, unless a short one fits into a cue with its neighbour."""
    passage: _Passage | None = None
    may_go_on = False
    for sentence in sentences:
        if not sentence.words:
            continue
        alone = _Passage(sentence.words, sentence.speaker, sentence.language, frozenset({len(sentence.words)}))
        if passage is None:
            passage = alone
        elif may_go_on and passage.speaker == alone.speaker and _is_one_cue(passage.words, alone.words):
            passage = _joined(passage, alone)
        else:
            yield passage
            passage = alone
        may_go_on = sentence.pause_s < LONG_PAUSE_S
    if passage is not None:
        yield passage


def _joined(first: _Passage, second: _Passage) -> _Passage:
    """Chinese and Japanese put no space between sentences; their full stops are as wide as two letters."""
    space = "" if columns(first.words[-1].text[-1]) > 1 else " "
    words = (*first.words, replace(second.words[0], space=space), *second.words[1:])
    return replace(first, words=words, ends=first.ends | {len(words)})


def _is_one_cue(first: Sequence[HeardWord], second: Sequence[HeardWord]) -> bool:
    """Whether both fit, and one of them would be gone before it is read."""
    if min(_heard_s(first), _heard_s(second)) >= LEAST_CUE_S:
        return False
    both = (*first, *second)
    width = sum(columns(each.space + each.text) for each in both)
    return _heard_s(both) <= MAX_CUE_S and width <= MAX_COLUMNS * MAX_LINES


def _heard_s(words: Sequence[HeardWord]) -> float:
    return words[-1].span.end_s - words[0].span.start_s


def _cues_of(passage: _Passage, label: str) -> Iterator[Cue]:
    ruler = _Ruler(passage.words, _ranks(passage), columns(label) + len(LABEL_END) if label else 0)
    for first, last in _divided(ruler):
        middle = ruler.line_break(first, last) or last
        lines = (passage.words[first:middle], passage.words[middle:last])
        span = TimeSpan(passage.words[first].span.start_s, passage.words[last - 1].span.end_s)
        yield Cue(span, tuple(filter(None, lines)), passage.speaker, "" if first else label)


def _ranks(passage: _Passage) -> list[int]:
    """How bad it is to cut behind each word; the best are the least."""
    words = passage.words
    text = "".join(word.space + word.text for word in words)
    ends = accumulate(len(word.space) + len(word.text) for word in words)
    word_that_ends = {end: number for number, end in enumerate(ends)}
    found: dict[int, int] = {}
    for place in clauses_of(text, 0, len(text)).places(0, len(text)):
        number = word_that_ends.get(_before_space(text, place.position))
        if number is not None:
            found[number] = min(found.get(number, place.rank), place.rank)
    bare = (*(_rank_between(*neighbours) for neighbours in pairwise(words)), ClauseCuts.WORD)
    ranks = [found.get(number, rank) for number, rank in enumerate(bare)]
    hanging = FUNCTION_WORDS.get(passage.language, frozenset())
    for number, word in enumerate(words):
        ranks[number] += word.text.lower() in hanging
    for end in passage.ends:
        ranks[end - 1] = _SENTENCE_RANK
    return ranks


def _rank_between(before: HeardWord, after: HeardWord) -> int:
    """Where no mark stands. Without a space it is as typesetters of Chinese and Japanese have it."""
    if after.space or not (_OPENING.search(before.text) or _CLOSING.match(after.text)):
        return ClauseCuts.WORD
    return ClauseCuts.TORN


def _before_space(text: str, position: int) -> int:
    while position and text[position - 1].isspace():
        position -= 1
    return position


class _Ruler:
    """Widths of stretches of a passage, and how bad it is to cut them."""

    def __init__(self, words: Sequence[HeardWord], ranks: Sequence[int], label_columns: int) -> None:
        self.words = words
        self.ranks = ranks
        self._spaces = [columns(word.space) for word in words]
        self._ends = list(accumulate((columns(word.text) for word in words), initial=label_columns))
        self._ends = [end + space for end, space in zip(self._ends, accumulate(self._spaces, initial=0), strict=True)]

    @property
    def even_columns(self) -> float:
        """Of each cue, if all were as long."""
        width = self.width(0, len(self.words))
        return width / -(-width // (MAX_COLUMNS * MAX_LINES))

    def width(self, first: int, last: int) -> int:
        """Of the words on one line, behind the label where they begin with the first."""
        if first == 0:
            return self._ends[last] - self._spaces[0]
        return self._ends[last] - self._ends[first] - self._spaces[first]

    def line_break(self, first: int, last: int) -> int | None:
        """Before which word the second line begins: `last` if one line does, None if two do not either."""
        if self.width(first, last) <= MAX_COLUMNS:
            return last
        best: tuple[float, int] | None = None
        for middle in range(last - 1, first, -1):
            lower = self.width(middle, last)
            if lower > MAX_COLUMNS:
                break
            upper = self.width(first, middle)
            if upper <= MAX_COLUMNS:
                cost = self.ranks[middle - 1] + abs(lower - upper) / _UNEVEN_LINES
                best = min(best or (cost, middle), (cost, middle))
        return best[1] if best else None


def _divided(ruler: _Ruler) -> list[tuple[int, int]]:
    """The cheapest division into cues: where it is cut, how many they are and how even."""
    best = [(0.0, 0)]
    even = ruler.even_columns
    for last in range(1, len(ruler.words) + 1):
        best.append(min((best[first][0] + cost, first) for first, cost in _last_cues(ruler, last, even)))
    parts: list[tuple[int, int]] = []
    last = len(ruler.words)
    while last:
        parts.append((best[last][1], last))
        last = best[last][1]
    return parts[::-1]


def _last_cues(ruler: _Ruler, last: int, even: float) -> Iterator[tuple[int, float]]:
    """Where a cue can begin that ends behind the word `last - 1`, and what it costs."""
    for first in range(last - 1, -1, -1):
        width = ruler.width(first, last)
        middle = ruler.line_break(first, last)
        is_single = first == last - 1
        if not is_single and (width > MAX_COLUMNS * MAX_LINES + 1 or _heard_s(ruler.words[first:last]) > MAX_CUE_S):
            return
        if middle is None and not is_single:
            continue
        torn_line = max(0, ruler.ranks[middle - 1]) / _LINE_END_SHARE if middle not in (None, last) else 0
        unevenness = max(0.0, 1 - width / even)
        yield first, _CUE_COST + ruler.ranks[last - 1] + torn_line + _UNEVEN * unevenness**2


def _shown_long_enough(cue: Cue, next_start_s: float) -> Cue:
    """The cue, shown on into the silence after it until it can have been read."""
    shown_columns = sum(columns(word.space + word.text) for line in cue.lines for word in line) + columns(cue.label)
    needed_s = min(MAX_CUE_S, max(LEAST_CUE_S, shown_columns / COLUMNS_PER_S))
    wanted = max(cue.span.end_s, cue.span.start_s + needed_s)
    end_s = max(min(wanted, next_start_s - LEAST_GAP_S), min(cue.span.end_s, next_start_s))
    return replace(cue, span=TimeSpan(cue.span.start_s, end_s))
