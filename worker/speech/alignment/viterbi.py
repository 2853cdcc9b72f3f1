"""The likeliest way through a row of states, each of which lasts a frame at least. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worker.engine.convolutions import Floats

IntArray = NDArray[np.int64]

_IMPOSSIBLE = np.float32(-1e9)


@dataclass(frozen=True, slots=True)
class States:
    """columns: which column of the scores each state takes. skipped: which may be left out; no two in a row are.

    The way begins in one of the first two states if the first may be left out, and ends likewise.
    """

    columns: IntArray
    skipped: NDArray[np.bool_]

    @property
    def backwards(self) -> States:
        return States(self.columns[::-1], self.skipped[::-1])


def best_path(scores: Floats, states: States) -> IntArray:
    """The state of each frame, (frames,). scores: (frames, columns). There must be as many frames as states."""
    columns = states.columns
    frames, count = len(scores), len(columns)
    # Where a state may be entered from two places back, over one that may be left out.
    jump = np.full(count, _IMPOSSIBLE, np.float32)
    jump[2:][states.skipped[1:-1]] = 0
    now = np.full(count + 2, _IMPOSSIBLE, np.float32)
    now[2] = scores[0, columns[0]]
    if states.skipped[0] and count > 1:
        now[3] = scores[0, columns[1]]
    back = np.zeros((frames, count), np.int8)
    stay, step, over = now[2:], now[1:-1], now[:-2]
    for frame in range(1, frames):
        best = np.maximum(stay, step)
        far = over + jump
        moved = step > stay
        leapt = far > best
        back[frame] = np.where(leapt, 2, moved)
        now[2:] = np.maximum(best, far) + scores[frame, columns]
    return _traced(back, now[2:], states)


def _traced(back: NDArray[np.int8], last: Floats, states: States) -> IntArray:
    frames, count = back.shape
    state = count - 1
    if states.skipped[-1] and count > 1 and last[-2] > last[-1]:
        state = count - 2
    path = np.empty(frames, np.int64)
    for frame in range(frames - 1, -1, -1):
        path[frame] = state
        state -= int(back[frame, state])
    return path
