"""Where the sentences of a segment are: in the plan's text, in what is spoken, in what people are shown. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

SentenceBreak = int | tuple[int, int, int]
"""Where a sentence other than the first begins: in the plan's text from the segment's start, in `text`, in `written`.

One number stands for three that are equal: a plan of 50,000 segments is mostly those.
"""


@dataclass(frozen=True, slots=True)
class PlanSentence:
    """The stretch [start, end) of the plan's text, and what is said and shown of it, without outer whitespace."""

    start: int
    end: int
    spoken: str
    written: str


def sentence_break(source: int, spoken: int, written: int) -> SentenceBreak:
    return source if source == spoken == written else (source, spoken, written)


def sentences(
    start: int, end: int, spoken: str, written: str, breaks: Sequence[SentenceBreak]
) -> tuple[PlanSentence, ...]:
    """Of the segment [start, end); without breaks it is one sentence, or a part of one."""
    bounds = [(0, 0, 0), *_offsets(breaks), (end - start, len(spoken), len(written))]
    return tuple(
        PlanSentence(
            start + first[0], start + last[0], spoken[first[1] : last[1]].strip(), written[first[2] : last[2]].strip()
        )
        for first, last in pairwise(bounds)
    )


def stretches(spoken: str, breaks: Sequence[SentenceBreak]) -> tuple[str, ...]:
    """What is spoken, sentence by sentence, each with the whitespace after it."""
    bounds = [0, *(at for _, at, _ in _offsets(breaks)), len(spoken)]
    return tuple(spoken[first:last] for first, last in pairwise(bounds))


def _offsets(breaks: Iterable[SentenceBreak]) -> Iterator[tuple[int, int, int]]:
    for each in breaks:
        yield (each, each, each) if isinstance(each, int) else each
