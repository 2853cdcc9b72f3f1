"""Times of written words from those of the words that were said for them: "1984" lasts as "nineteen eighty four". Pure.

Words that are the same in both texts belong together; what stands between two such pairs was said in other words, and
shares their time.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from worker.speech.alignment.aligner import WordTime
from worker.speech.alignment.words import AlignedWord

_LETTERS_OF_A_SIGN = 5

_REACH, _SAID_REACH = 8, 40
"""Words that are looked ahead for one that both texts have: a long number is said in some thirty."""


@dataclass(frozen=True, slots=True)
class _Block:
    """[first, end) of the written words was said as [said_first, said_end) of the spoken ones."""

    first: int
    end: int
    said_first: int
    said_end: int


def written_times(
    written: Sequence[AlignedWord], spoken: Sequence[AlignedWord], times: Sequence[WordTime]
) -> Iterator[WordTime]:
    """One for each written word. times: of the spoken ones. What was said as nothing lasts no time."""
    now = times[0].start_s if times else 0.0
    for block in _blocks(_compared(written), _compared(spoken)):
        words, said = written[block.first : block.end], times[block.said_first : block.said_end]
        if len(words) == len(said):
            others = spoken[block.said_first : block.said_end]
            yield from (_as_written(*each) for each in zip(words, others, said, strict=True))
        elif words and said:
            yield from _shared(words, spoken[block.said_first : block.said_end], said)
        else:
            yield from (even_time(word, now, now) for word in words)
        now = said[-1].end_s if said else now


def even_time(word: AlignedWord, start_s: float, end_s: float) -> WordTime:
    """Each character as long as the others."""
    length = len(word.text)
    return WordTime(tuple(start_s + (end_s - start_s) * at / length for at in range(length + 1)))


def _compared(words: Sequence[AlignedWord]) -> list[str]:
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


def _as_written(word: AlignedWord, said: AlignedWord, time: WordTime) -> WordTime:
    return time if len(word.text) == len(said.text) else even_time(word, time.start_s, time.end_s)


def _shared(words: Sequence[AlignedWord], said: Sequence[AlignedWord], times: Sequence[WordTime]) -> Iterator[WordTime]:
    """Among words of which it is not known which is which, by their length; each begins with a word that was said."""
    shares = _shares([_reading_length(word.text) for word in words])
    if len(said) < len(words):
        start_s, length_s = times[0].start_s, times[-1].end_s - times[0].start_s
        bounds = [start_s + length_s * share for share in (0.0, *shares)]
        spans = list(pairwise(bounds))
    else:
        firsts = _nearest(shares, _shares([len(word.text) for word in said]))
        spans = [(times[first].start_s, times[end - 1].end_s) for first, end in pairwise((0, *firsts, len(said)))]
    for word, (start_s, end_s) in zip(words, spans, strict=True):
        yield even_time(word, start_s, end_s)


def _nearest(shares: Sequence[float], said: Sequence[float]) -> list[int]:
    """With which said word each written word but the first begins; every written word has one at least."""
    firsts: list[int] = []
    for number, share in enumerate(shares[:-1], start=1):
        least = firsts[-1] + 1 if firsts else 1
        most = len(said) - (len(shares) - number)
        after = bisect_left(said, share, least - 1, most - 1) + 1
        is_nearer_before = after > least and share - said[after - 2] < said[after - 1] - share
        firsts.append(after - is_nearer_before)
    return firsts


def _shares(lengths: Sequence[int]) -> list[float]:
    """Where each ends, of the whole."""
    ends = list(accumulate(lengths))
    return [end / max(1, ends[-1]) for end in ends]


def _reading_length(written: str) -> int:
    """In letters or so; a digit or sign is read as a word."""
    return sum(1 if sign.isalpha() or sign in ".,'’-" else _LETTERS_OF_A_SIGN for sign in written)
