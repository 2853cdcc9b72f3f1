"""How each attempt at a segment differs from the one before it, which did not pass. Pure.

Another seed is another utterance where the checkpoint draws its codes. Where it takes the most likely one, every seed
gives the same speech again, so that from the second attempt on codes are drawn. A model that draws nothing speaks a
little slower each time, and each take of the same words at another speed. The last attempt is the text in two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from reading.segmenting.halves import halves
from worker.engine.interface import SamplingParams

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
