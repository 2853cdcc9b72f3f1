"""Times of written words from those of the words that were said for them: "1984" lasts as "nineteen eighty four". Pure.

Words that are the same in both texts belong together; what stands between two such pairs was said in other words, and
shares their time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from worker.speech.alignment.aligner import WordTime
from worker.speech.alignment.words import Word

_REACH, _SAID_REACH = 8, 40
"""Words that are looked ahead for one that both texts have: a long number is said in some thirty."""


@dataclass(frozen=True, slots=True)
class _Block:
    """[first, end) of the written words was said as [said_first, said_end) of the spoken ones."""

    first: int
    end: int
    said_first: int
    said_end: int


def written_times(written: Sequence[Word], spoken: Sequence[Word], times: Sequence[WordTime]) -> Iterator[WordTime]:
    """One for each written word. times: of the spoken ones. What was said as nothing lasts no time."""
    now = times[0].start_s if times else 0.0
    for block in _blocks(_compared(written), _compared(spoken)):
        words, said = written[block.first : block.end], times[block.said_first : block.said_end]
        if len(words) == len(said):
            others = spoken[block.said_first : block.said_end]
            yield from (_as_written(*each) for each in zip(words, others, said, strict=True))
        elif said:
            yield from _shared(words, said[0].start_s, said[-1].end_s)
        else:
            yield from (even_time(word, now, now) for word in words)
        now = said[-1].end_s if said else now


def even_time(word: Word, start_s: float, end_s: float) -> WordTime:
    """Each character as long as the others."""
    length = len(word.text)
    return WordTime(tuple(start_s + (end_s - start_s) * at / length for at in range(length + 1)))


def _compared(words: Sequence[Word]) -> list[str]:
    return [word.text.casefold() for word in words]


def _blocks(written: Sequence[str], spoken: Sequence[str]) -> Iterator[_Block]:
    """All of both, in order: a word that both have, or what lies between two of those."""
    at = said = 0
    while at < len(written) or said < len(spoken):
        first, said_first = at, said
        at, said = _next_common(written, spoken, at, said)
        if (at, said) != (first, said_first):
            yield _Block(first, at, said_first, said)
        if at < len(written) and said < len(spoken):
            yield _Block(at, at + 1, said, said + 1)
            at, said = at + 1, said + 1


def _next_common(written: Sequence[str], spoken: Sequence[str], at: int, said: int) -> tuple[int, int]:
    """The nearest places with the same word; the ends of both if they are not in reach."""
    most, most_said = min(_REACH, len(written) - at), min(_SAID_REACH, len(spoken) - said)
    for distance in range(most + most_said - 1):
        for ahead in range(max(0, distance - most_said + 1), min(distance + 1, most)):
            if written[at + ahead] == spoken[said + distance - ahead]:
                return at + ahead, said + distance - ahead
    return len(written), len(spoken)


def _as_written(word: Word, said: Word, time: WordTime) -> WordTime:
    return time if len(word.text) == len(said.text) else even_time(word, time.start_s, time.end_s)


def _shared(words: Sequence[Word], start_s: float, end_s: float) -> Iterator[WordTime]:
    """Among words of which it is not known which is which, by their length."""
    if not words:
        return
    ends = list(accumulate(len(word.text) for word in words))
    places = [start_s + (end_s - start_s) * end / ends[-1] for end in (0, *ends)]
    for word, first, last in zip(words, places, places[1:], strict=False):
        yield even_time(word, first, last)
