"""Quantiles of a few hundred numbers, without the 40 µs that numpy's own takes for any number of them. Pure."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def quantile(values: NDArray[np.floating], share: float) -> float:
    """As `numpy.quantile`: between two of the sorted values it goes straight from one to the other."""
    place = (len(values) - 1) * share
    below = int(place)
    above = min(below + 1, len(values) - 1)
    parted = np.partition(values, (below, above))
    return float(parted[below] + (parted[above] - parted[below]) * (place - below))
