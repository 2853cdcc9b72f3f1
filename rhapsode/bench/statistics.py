"""What a column of measurements comes to, and how sure a difference between two columns is. Pure."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass


def percentile(values: Sequence[float], share: float) -> float:
    """Between the two nearest values in proportion, as numpy's default is. share: 0.5 is the median.

    Raises ValueError where there are no values.
    """
    if not values:
        raise ValueError("nothing was measured")
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def mean(values: Iterable[float | None]) -> float | None:
    """Of those that are known; None where none is."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


LEAST_VALUES_FOR_P95 = 20
"""Below that, no value has to lie above the 95th percentile."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Of `samples` values; seconds, or a ratio."""

    samples: int
    mean: float
    p50: float
    p95: float
    p99: float
    most: float

    @property
    def has_p95(self) -> bool:
        return self.samples >= LEAST_VALUES_FOR_P95


def spread(values: Iterable[float | None]) -> Spread | None:
    known = [value for value in values if value is not None]
    if not known:
        return None
    p50, p95, p99 = (percentile(known, share) for share in (0.5, 0.95, 0.99))
    return Spread(len(known), sum(known) / len(known), p50, p95, p99, max(known))


DRAWS = 2_000
LEAST_VALUES = 8
"""Of each column: below that the interval says more of the method than of the values."""

_TAIL = 0.95
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
    least = LEAST_VALUES_FOR_P95 if share >= _TAIL else LEAST_VALUES
    if min(len(first), len(second)) < least or percentile(first, share) <= 0:
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


def cost_of_audio_hour(price_per_hour: float, audio_s_per_s: float) -> float:
    """In the currency of the price of an hour of what speaks, with that busy all the time."""
    return price_per_hour / audio_s_per_s
