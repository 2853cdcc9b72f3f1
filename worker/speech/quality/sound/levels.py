"""How loud an utterance is where nothing is said, and whether it stays as loud as it began. Pure."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from worker.speech.quality.measures import SPEECH_DB, WINDOW_S

LEAST_S = 1.5
"""Halves of a shorter one are a word each, and words differ."""

_LOUD_SHARE = 0.9
_QUIET_WINDOWS = 4

_Levels = NDArray[np.float64]


def background_db(levels: _Levels, loud_db: float) -> float:
    """The quietest 40 ms against the loud windows; 0 where there are not so many. levels: of all windows, in dB."""
    if len(levels) < _QUIET_WINDOWS:
        return 0.0
    power = np.convolve(10 ** (levels / 10), np.full(_QUIET_WINDOWS, 1 / _QUIET_WINDOWS), "valid")
    return 10 * float(np.log10(max(power.min(), 1e-12))) - loud_db


def level_change_db(levels: _Levels, loud_db: float) -> float:
    """By how much the loud windows of the second half are louder than those of the first; 0 for what is short."""
    audible = np.flatnonzero(levels >= loud_db + SPEECH_DB)
    if not len(audible) or (audible[-1] - audible[0]) * WINDOW_S < LEAST_S:
        return 0.0
    middle = (audible[0] + audible[-1]) // 2
    first, second = levels[audible[0] : middle], levels[middle : audible[-1] + 1]
    return float(np.quantile(second, _LOUD_SHARE) - np.quantile(first, _LOUD_SHARE))
