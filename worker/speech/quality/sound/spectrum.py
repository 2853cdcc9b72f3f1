"""How energy lies in the spectrum, window by window. Pure."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from worker.engine.interface import Pcm

EDGES_HZ = (80, 200, 400, 700, 1_100, 1_600, 2_200, 3_000, 4_000, 5_500, 7_500, 9_500, 11_500)
NUM_BANDS = len(EDGES_HZ) - 1
HOP_S = 0.02
_WINDOW_S = 256 / 24_000
_FLOOR = 1e-14
_PIECE_WINDOWS = 64
"""At a time: what is made of so many stays in a core's own cache."""


def band_levels(pcm: Pcm, sample_rate_hz: int) -> NDArray[np.float32]:
    """(windows, NUM_BANDS): dB of the mean power of a band's lines."""
    size, hop = round(_WINDOW_S * sample_rate_hz), round(HOP_S * sample_rate_hz)
    padded = pcm if len(pcm) >= size else np.pad(pcm, (0, size - len(pcm)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, size)[::hop]
    shape = np.hanning(size).astype(np.float32)
    # Of a lower rate the last bands are one line, always the same.
    lines = np.minimum(np.round(np.array(EDGES_HZ) * size / sample_rate_hz).astype(int), size // 2)
    means = _band_means(lines, size)
    pieces = [
        _power(windows[first : first + _PIECE_WINDOWS] * shape) @ means
        for first in range(0, len(windows), _PIECE_WINDOWS)
    ]
    return 10 * np.log10(np.concatenate(pieces) + np.float32(_FLOOR))


def _power(windows: NDArray[np.float32]) -> NDArray[np.float32]:
    spectrum = np.fft.rfft(windows, axis=1)
    return np.square(spectrum.real) + np.square(spectrum.imag)


def _band_means(lines: NDArray[np.int_], size: int) -> NDArray[np.float32]:
    """(lines of a spectrum, NUM_BANDS): what a band takes of each line. lines: where the bands begin, and the end."""
    means = np.zeros((size // 2 + 1, NUM_BANDS), np.float32)
    for band, (first, end) in enumerate(pairwise(lines)):
        last = max(end, first + 1)
        means[first:last, band] = 1 / ((last - first) * size)
    return means
