"""How energy lies in the spectrum, window by window. Pure."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from worker.engine.interface import Pcm

EDGES_HZ = (80, 200, 400, 700, 1_100, 1_600, 2_200, 3_000, 4_000, 5_500, 7_500, 9_500, 11_500)
NUM_BANDS = len(EDGES_HZ) - 1
HOP_S = 0.02
_WINDOW_S = 256 / 24_000
_FLOOR = 1e-14


def band_levels(pcm: Pcm, sample_rate_hz: int) -> NDArray[np.float32]:
    """(windows, NUM_BANDS): dB of the mean power of a band's lines."""
    size, hop = round(_WINDOW_S * sample_rate_hz), round(HOP_S * sample_rate_hz)
    padded = pcm if len(pcm) >= size else np.pad(pcm, (0, size - len(pcm)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, size)[::hop]
    shape = np.hanning(size).astype(np.float32)
    lines = np.fft.rfft(windows * shape, axis=1)
    power = np.square(lines.real) + np.square(lines.imag)
    edges = np.array(EDGES_HZ) * size / sample_rate_hz
    starts = np.minimum(np.round(edges).astype(int), power.shape[1])
    sums = np.add.reduceat(power, starts, axis=1)[:, :NUM_BANDS]
    return 10 * np.log10(sums / (np.diff(starts) * size) + np.float32(_FLOOR))
