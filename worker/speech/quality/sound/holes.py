"""Holes: a sound that is gone at once and back at once. Pure.

Before a stop consonant speech dies away and after it begins hard, or the other way; a hole has two hard edges.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from worker.speech.quality.runs import runs
from worker.speech.quality.sound.levels import SHORT_WINDOW_S

NO_HOLE_DB = -60.0

_DEEP_DB = -40.0
"""Against the loud windows: nothing is heard there."""
_LEAST_WINDOWS = 3
_EDGE_WINDOWS = 3


def hole_edge_db(levels: NDArray[np.floating]) -> tuple[float, float]:
    """(dB, seconds): the softer edge of the hardest hole against the loud windows, and where. `NO_HOLE_DB` for none.

    levels: of windows of `SHORT_WINDOW_S`, against the loud ones.
    """
    starts, ends = runs(levels < _DEEP_DB)
    is_inside = (starts >= _EDGE_WINDOWS) & (ends + _EDGE_WINDOWS <= len(levels)) & (ends - starts >= _LEAST_WINDOWS)
    starts, ends = starts[is_inside], ends[is_inside]
    if not len(starts):
        return NO_HOLE_DB, 0.0
    near = np.arange(_EDGE_WINDOWS)
    before = levels[starts[:, None] - 1 - near].max(axis=1)
    behind = levels[ends[:, None] + near].max(axis=1)
    edges = np.minimum(before, behind)
    hardest = int(edges.argmax())
    return max(NO_HOLE_DB, float(edges[hardest])), float(starts[hardest] * SHORT_WINDOW_S)
