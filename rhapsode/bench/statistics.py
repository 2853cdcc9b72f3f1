"""What a column of measurements comes to."""

from __future__ import annotations

from collections.abc import Sequence


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
