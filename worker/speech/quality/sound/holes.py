"""Holes: a sound that is gone at once and back at once. Pure.

Before a stop consonant speech dies away and after it begins hard, or the other way; a hole has two hard edges.
"""

from __future__ import annotations

import numpy as np

from worker.engine.interface import Pcm
from worker.speech.quality.runs import runs

WINDOW_S = 0.005
NO_HOLE_DB = -60.0

_DEEP_DB = -40.0
"""Against the loud windows: nothing is heard there."""
_LEAST_WINDOWS = 3
_EDGE_WINDOWS = 3


def hole_edge_db(pcm: Pcm, sample_rate_hz: int, loud_db: float) -> tuple[float, float]:
    """(dB, seconds): the softer edge of the hardest hole against the loud windows, and where. `NO_HOLE_DB` for none."""
    size = round(WINDOW_S * sample_rate_hz)
    windows = pcm[: len(pcm) // size * size].reshape(-1, size)
    levels = 10 * np.log10(np.einsum("ij,ij->i", windows, windows) / size + np.float32(1e-12)) - loud_db
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
    return max(NO_HOLE_DB, float(edges[hardest])), float(starts[hardest] * WINDOW_S)
