"""How each attempt at a segment differs from the one before it, which did not pass. Pure.

Another seed is another utterance where the checkpoint draws its codes. Where it takes the most likely one, every seed
gives the same speech again, so that from the second attempt on codes are drawn. A model that draws nothing speaks a
little slower each time, and each take of the same words at another speed. The last attempt is the text in two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from reading.estimates import speech_units
from reading.segmenting.clauses import ClauseCuts, clauses_of
from reading.segmenting.sentences import sentences
from worker.engine.interface import SamplingParams

LEAST_UNITS = 15
"""Of a half. Less is hardly a clause, and a checkpoint speaks a word or two worse than a sentence."""

_LEAST_SHARE = 0.25
"""Of the text, that either half has: a word that is cut off leaves the other half as hard as the whole."""

REROLL_TEMPERATURE = 0.6
"""Of codebook 0, for a checkpoint that decodes greedily; the code predictor stays greedy. Of 15 short, long and numeric
texts by both speakers of the small checkpoint, it passed more often than 0.3, and ran away less often than 0.9."""

SLOWER = 0.97
"""From attempt to attempt of a model that draws nothing: enough for other sounds, hardly audible."""

TAKE_SPEEDS = (1.0, 0.94, 1.06, 0.97, 1.03, 0.91, 1.09)
"""Of its takes of the same words, in turns. Neither attempt of a take has nearly the speed of one of the take before:
of short lines, 1.5 % slower or 3 % faster often gives the same sounds.
"""


@dataclass(frozen=True, slots=True)
class Manner:
    """How one attempt is made. number: from 1. parts: the text whole, or in two that are spoken one by one."""

    number: int
    seed: int
    sampling: SamplingParams
    parts: tuple[str, ...]
    speed: float = 1.0


@dataclass(frozen=True, slots=True)
class Tries:
    """What the attempts at one segment have in common.

    sampling: what job and checkpoint say. greedy_wanted: the job asks for the most likely codes itself, which no
    attempt changes. drawn: the first one is to differ too, from other takes. first: number of the first; those before
    it did not pass when the job ended last time. most: how many are made. has_speed: the model draws nothing and takes
    a speed. take: from 1.
    """

    text: str
    sampling: SamplingParams
    greedy_wanted: bool
    drawn: bool
    first: int
    most: int
    has_speed: bool = False
    take: int = 1


def manners(tries: Tries, seed_of: Callable[[int], int]) -> Iterator[Manner]:
    """One for each attempt; none that would only repeat another. seed_of: of an attempt."""
    last = tries.first + tries.most - 1
    take_speed = TAKE_SPEEDS[(tries.take - 1) % len(TAKE_SPEEDS)] if tries.drawn else 1.0
    for number in range(tries.first, last + 1):
        # Where to cut is asked for when it comes to that: nearly every segment passes at once.
        cut = halves(tries.text) if number == last and tries.most > 1 else None
        parts = cut or (tries.text,)
        if tries.greedy_wanted and not tries.has_speed and number > tries.first and len(parts) == 1:
            continue
        speed = take_speed * SLOWER ** (number - 1) if tries.has_speed else 1.0
        yield Manner(number, seed_of(number), _sampling(tries, number), parts, speed)


def _sampling(tries: Tries, number: int) -> SamplingParams:
    is_greedy = tries.sampling.talker.temperature == 0
    if tries.has_speed or not is_greedy or tries.greedy_wanted or (number == 1 and not tries.drawn):
        return tries.sampling
    return replace(tries.sampling, talker=replace(tries.sampling.talker, temperature=REROLL_TEMPERATURE))


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
