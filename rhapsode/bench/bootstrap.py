"""How sure a difference between two columns of measurements is, by drawing from them again and again. Pure.

A quantile of a column that is drawn anew needs no drawing: its place among the n values is the place of an order
statistic of n uniform numbers, which is a Beta variate. So the time is that of sorting, however many values there are.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rhapsode.bench.statistics import percentile

DRAWS = 2_000
LEAST_VALUES = 8
"""Of each column: below that the interval says more of the method than of the values."""

_MOST_CELLS = 500
_SHARES = (0.025, 0.975)


@dataclass(frozen=True, slots=True)
class RatioInterval:
    """The second column's figure divided by the first's, and between which two it lies with 95 %."""

    ratio: float
    least: float
    most: float

    @property
    def is_different(self) -> bool:
        return not self.least <= 1 <= self.most


def quantile_ratio(
    first: Sequence[float], second: Sequence[float], share: float, seed: int = 0
) -> RatioInterval | None:
    """Of the quantiles at `share`; None where a column has too few values, or the first's quantile is not above 0."""
    if min(len(first), len(second)) < LEAST_VALUES or percentile(first, share) <= 0:
        return None
    chance = random.Random(seed)
    drawn = [_quantile_drawer(column, share, chance) for column in (first, second)]
    return _interval(percentile(second, share) / percentile(first, share), drawn[0], drawn[1])


def total_ratio(first: Sequence[float], second: Sequence[float], weight: float, seed: int = 0) -> RatioInterval | None:
    """Of the sums, the second's multiplied by `weight`, as where it was measured for another time. None as above."""
    if min(len(first), len(second)) < LEAST_VALUES or sum(first) <= 0:
        return None
    chance = random.Random(seed)
    drawn = [_total_drawer(column, chance) for column in (first, second)]
    found = _interval(sum(second) / sum(first), drawn[0], drawn[1])
    return RatioInterval(weight * found.ratio, weight * found.least, weight * found.most)


def _interval(ratio: float, first: Callable[[], float], second: Callable[[], float]) -> RatioInterval:
    ratios = [above / below for below, above in ((first(), second()) for _ in range(DRAWS)) if below > 0]
    least, most = (percentile(ratios, share) for share in _SHARES)
    return RatioInterval(ratio, least, most)


def _quantile_drawer(column: Sequence[float], share: float, chance: random.Random) -> Callable[[], float]:
    ordered = sorted(column)
    count = len(ordered)
    place = min(count, max(1, round(share * (count - 1)) + 1))
    return lambda: ordered[min(count - 1, int(count * chance.betavariate(place, count - place + 1)))]


def _total_drawer(column: Sequence[float], chance: random.Random) -> Callable[[], float]:
    """Of many values, sums of equally many of them are drawn, which spread as much."""
    cells = [sum(column[begin::_MOST_CELLS]) for begin in range(min(len(column), _MOST_CELLS))]
    return lambda: sum(chance.choices(cells, k=len(cells)))
