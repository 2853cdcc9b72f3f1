"""How loud an utterance is where nothing is said, and whether it stays as loud as it began. Pure."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from worker.engine.interface import Pcm
from worker.speech.quality.measures import SPEECH_DB, WINDOW_S
from worker.speech.quality.quantiles import quantile

SHORT_WINDOW_S = WINDOW_S / 2

LEAST_S = 1.5
"""Halves of a shorter one are a word each, and words differ."""

_LOUD_SHARE = 0.9
_QUIET_WINDOWS = 4

_FLOOR = 1e-12

Levels = NDArray[np.float32]
"""Of one window after the other, in dB against the loud ones."""


def short_levels(pcm: Pcm, sample_rate_hz: int, loud_db: float) -> Levels:
    """Of windows of `SHORT_WINDOW_S`; what does not fill the last one does not count."""
    size = round(SHORT_WINDOW_S * sample_rate_hz)
    windows = pcm[: len(pcm) // size * size].reshape(-1, size)
    energies = np.einsum("ij,ij->i", windows, windows)
    return 10 * np.log10(energies / np.float32(size) + np.float32(_FLOOR)) - np.float32(loud_db)


def paired_levels(levels: Levels) -> Levels:
    """Of windows twice as long."""
    power = 10 ** (levels[: len(levels) // 2 * 2] / np.float32(10))
    return 10 * np.log10((power[::2] + power[1::2]) / 2)


def background_db(levels: Levels) -> float:
    """The quietest 40 ms; 0 where there are not so many. levels: of windows of `WINDOW_S`."""
    if len(levels) < _QUIET_WINDOWS:
        return 0.0
    power = np.convolve(10 ** (levels / 10), np.full(_QUIET_WINDOWS, 1 / _QUIET_WINDOWS), "valid")
    return 10 * float(np.log10(max(power.min(), _FLOOR)))


def level_change_db(levels: Levels) -> float:
    """By how much the loud windows of the second half are louder than those of the first; 0 for what is short."""
    audible = np.flatnonzero(levels >= SPEECH_DB)
    if not len(audible) or (audible[-1] - audible[0]) * WINDOW_S < LEAST_S:
        return 0.0
    middle = (audible[0] + audible[-1]) // 2
    first, second = levels[audible[0] : middle], levels[middle : audible[-1] + 1]
    return quantile(second, _LOUD_SHARE) - quantile(first, _LOUD_SHARE)
