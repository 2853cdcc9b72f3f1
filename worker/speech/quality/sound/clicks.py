"""Clicks: a sample that those around it do not lead to. Pure."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from worker.engine.interface import Pcm

Floats = NDArray[np.float32]

_WINDOW_S = 0.005
_NEAR = 2
"""Windows on either side whose unrest a click is held against."""
_ORDER = 3
_PIECE_WINDOWS = 256
"""At a time: what is made of so many stays in a core's own cache, and costs a third."""
_LEAST = 1e-4
"""Unrest that nobody hears, as a factor of full scale."""


def click_db(pcm: Pcm, sample_rate_hz: int, loud_db: float) -> tuple[float, float]:
    """(dB, seconds): how far the sharpest sample stands out of what is around it, and where; 0 for none.

    The third difference is small where samples follow each other as those of any sound through a loudspeaker do, and
    three times as high as a click that is one sample long. What is softer than 40 dB below the loud is not heard.
    """
    size = round(_WINDOW_S * sample_rate_hz)
    count = (len(pcm) - _ORDER) // size
    if count < 2 * _NEAR + 1:
        return 0.0, 0.0
    pieces = [
        _unrest(pcm, first, min(first + _PIECE_WINDOWS, count), size) for first in range(0, count, _PIECE_WINDOWS)
    ]
    peaks, energies = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
    # A click spreads over four third differences; without them its own window would hide it.
    calm = np.maximum(energies - 2.3 * np.square(peaks), 0)
    around = np.convolve(calm, np.ones(2 * _NEAR + 1), "same") / (size * (2 * _NEAR + 1))
    heard = np.sqrt(around) + max(_LEAST, 0.01 * 10 ** (loud_db / 20))
    ratios = peaks / heard
    place = int(ratios.argmax())
    return 20 * float(np.log10(max(ratios[place], 1e-9))), place * _WINDOW_S


def _unrest(pcm: Pcm, first: int, end: int, size: int) -> tuple[Floats, Floats]:
    """(peaks, energies) of the third difference in each of the windows [first, end)."""
    sharp = np.diff(pcm[first * size : end * size + _ORDER], _ORDER)
    squares = np.square(sharp, out=sharp).reshape(end - first, size)
    return np.sqrt(squares.max(axis=1)), squares.sum(axis=1)
