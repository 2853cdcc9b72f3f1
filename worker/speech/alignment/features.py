"""What the aligner hears: a log mel spectrum every 10 ms, for any sample rate."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

FRAME_S = 0.01
NUM_BANDS = 40

_WINDOW_S = 0.025
_LOWEST_HZ, _HIGHEST_HZ = 60.0, 7_200.0
_RANGE = 13.8
"""From the loudest band of an utterance down to what counts as silence: 60 dB, in natural logarithms."""
_SPEECH_RANGE = 9.2
"""From the loudest frame down to what the means are taken of: 40 dB."""
_SCALE = 2.5
_FULL_SCALE = 32_768

Floats = NDArray[np.float32]


def features(pcm: NDArray[np.int16] | Floats, sample_rate_hz: float) -> Floats:
    """(frames, NUM_BANDS); the mean over what is loud is taken off each band, so that no microphone stays in it.

    pcm: on the scale of 16-bit integers.
    """
    power = _power(pcm, sample_rate_hz) @ _bank(sample_rate_hz)
    spectrum = np.log(power + np.float32(1e-3))
    spectrum = np.maximum(spectrum, spectrum.max(initial=0) - np.float32(_RANGE))
    loudness = spectrum.mean(1)
    loud = loudness >= loudness.max(initial=0) - _SPEECH_RANGE
    normal: Floats = (spectrum - spectrum[loud].mean(0)) / np.float32(_SCALE) if len(spectrum) else spectrum
    return normal


def _power(pcm: NDArray[np.int16] | Floats, sample_rate_hz: float) -> Floats:
    size = round(_WINDOW_S * sample_rate_hz)
    frames = int(len(pcm) / (sample_rate_hz * FRAME_S))
    middles = (np.arange(frames) + 0.5) * (FRAME_S * sample_rate_hz)
    starts = middles.round().astype(np.int64)
    padded = np.pad(np.asarray(pcm, np.float32), (size // 2, size))
    windows = np.lib.stride_tricks.sliding_window_view(padded, size)[starts] * _window(size)
    transform = np.fft.rfft(windows, _transform_size(size), axis=1)
    power: Floats = np.square(transform.real) + np.square(transform.imag)
    return power / np.float32(size)


@lru_cache(maxsize=8)
def _window(size: int) -> Floats:
    return np.hanning(size).astype(np.float32)


def _transform_size(size: int) -> int:
    return 1 << (size - 1).bit_length()


@lru_cache(maxsize=8)
def _bank(sample_rate_hz: float) -> Floats:
    """Triangles, (bins, NUM_BANDS), each of weight one."""
    size = _transform_size(round(_WINDOW_S * sample_rate_hz))
    bins = _mel(np.arange(size // 2 + 1, dtype=np.float64) * (sample_rate_hz / size))
    edges = np.linspace(_mel(np.array(_LOWEST_HZ)), _mel(np.array(_HIGHEST_HZ)), NUM_BANDS + 2)
    rising = (bins[:, None] - edges[:-2]) / (edges[1:-1] - edges[:-2])
    falling = (edges[2:] - bins[:, None]) / (edges[2:] - edges[1:-1])
    bank = np.maximum(0.0, np.minimum(rising, falling))
    return (bank / np.maximum(bank.sum(0), 1e-6)).astype(np.float32)


def _mel(hertz: NDArray[np.floating]) -> NDArray[np.float64]:
    mel: NDArray[np.float64] = 1127.0 * np.log1p(np.asarray(hertz, np.float64) / 700.0)
    return mel
