"""Stretches of True in a row of flags. Pure."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def runs(flags: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where they begin and end."""
    edges = np.diff(flags.astype(np.int8), prepend=0, append=0)
    return np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)


def longest_run(flags: NDArray[np.bool_]) -> tuple[int, int]:
    """(length, start) of the first longest."""
    starts, ends = runs(flags)
    if not len(starts):
        return 0, 0
    best = int((ends - starts).argmax())
    return int(ends[best] - starts[best]), int(starts[best])
