"""How high a voice is. Pure."""

from __future__ import annotations

import numpy as np

from worker.engine.interface import Pcm
from worker.speech.quality.quantiles import quantile

LOWEST_HZ, HIGHEST_HZ = 60.0, 420.0

_MOST_WINDOWS = 32
"""Spread over the utterance: a median wants no more."""
_WINDOW_S = 0.05
_RATE_HZ = 6_000
_PERIODIC = 0.6
_LEAST_VOICED = 5


def pitch_hz(pcm: Pcm, sample_rate_hz: int) -> float | None:
    """The median over windows that are voiced; None for less than five of them."""
    step = max(1, round(sample_rate_hz / _RATE_HZ))
    rate_hz = sample_rate_hz / step
    thinned = _thinned(pcm, step)
    size = round(_WINDOW_S * rate_hz)
    if len(thinned) < size:
        return None
    windows = np.lib.stride_tricks.sliding_window_view(thinned, size)[:: size // 4]
    levels = np.einsum("ij,ij->i", windows, windows)
    loud = np.flatnonzero(levels > levels.max() / 30)
    chosen = loud[np.linspace(0, len(loud) - 1, min(len(loud), _MOST_WINDOWS)).astype(int)]
    periods = _periods(windows[chosen] - windows[chosen].mean(axis=1, keepdims=True), rate_hz)
    return rate_hz / quantile(periods, 0.5) if len(periods) >= _LEAST_VOICED else None


def _thinned(pcm: Pcm, step: int) -> np.ndarray:
    whole = pcm[: len(pcm) // step * step]
    summed = whole[::step].copy()
    for start in range(1, step):
        summed += whole[start::step]
    return summed


def _periods(windows: np.ndarray, rate_hz: float) -> np.ndarray:
    """In samples, of those windows that are voiced."""
    size = windows.shape[1]
    shortest, longest = int(rate_hz / HIGHEST_HZ), min(int(rate_hz / LOWEST_HZ), size - 1)
    # Room in which a window that is shifted so far meets no other end of itself.
    room = 1 << (size + longest - 1).bit_length()
    spectra = np.fft.rfft(windows, room, axis=1)
    likeness = np.fft.irfft(np.square(spectra.real) + np.square(spectra.imag), axis=1)[:, :longest]
    # Longer shifts compare fewer samples.
    compared = np.arange(size, size - longest, -1, dtype=np.float32) / np.float32(size)
    likeness = likeness / (likeness[:, :1] * compared + np.float32(1e-14))
    field = likeness[:, shortest:]
    best = field.max(axis=1)
    # The first of peaks that are nearly as high: two periods are as alike as one.
    shifts = shortest + (field >= 0.9 * best[:, None]).argmax(axis=1)
    return shifts[best > _PERIODIC].astype(np.float64)
