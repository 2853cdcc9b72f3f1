"""Mel bands over short spectra, numpy only. Scale and areas as in M. Slaney's Auditory Toolbox (1998)."""

from __future__ import annotations

import numpy as np
import soxr
from numpy.typing import NDArray

SAMPLE_RATE_HZ = 16_000
FFT_SIZE = 400
HOP = 160

_KNEE_HZ, _HZ_PER_MEL = 1000.0, 200.0 / 3.0
_LOG_STEP = np.log(6.4) / 27.0

Floats = NDArray[np.float32]


def resampled(pcm: Floats, sample_rate_hz: int) -> Floats:
    """At 16 kHz."""
    if sample_rate_hz == SAMPLE_RATE_HZ:
        return pcm
    return soxr.resample(pcm, sample_rate_hz, SAMPLE_RATE_HZ).astype(np.float32)


def mel_power(samples: Floats, num_bands: int) -> Floats:
    """Samples (S,) at 16 kHz into (1 + S // 160, num_bands): power in bands of windows of 25 ms, 10 ms apart."""
    edge = np.zeros(FFT_SIZE // 2, np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(np.concatenate((edge, samples, edge)), FFT_SIZE)[::HOP]
    # The periodic Hann window.
    window = np.hanning(FFT_SIZE + 1)[:-1]
    power = np.square(np.abs(np.fft.rfft(windows * window, axis=1)))
    return (power @ mel_bands(num_bands).T).astype(np.float32)


def mel_bands(num_bands: int) -> NDArray[np.float64]:
    """(num_bands, 201): triangles of equal area up to 8 kHz."""
    bins_hz = np.linspace(0, SAMPLE_RATE_HZ / 2, FFT_SIZE // 2 + 1)
    top_mel = _KNEE_HZ / _HZ_PER_MEL + np.log(SAMPLE_RATE_HZ / 2 / _KNEE_HZ) / _LOG_STEP
    mels = np.linspace(0, top_mel, num_bands + 2)
    knee_mel = _KNEE_HZ / _HZ_PER_MEL
    corners = np.where(mels < knee_mel, mels * _HZ_PER_MEL, _KNEE_HZ * np.exp((mels - knee_mel) * _LOG_STEP))
    low, centre, high = corners[:-2, None], corners[1:-1, None], corners[2:, None]
    triangles = np.minimum((bins_hz - low) / (centre - low), (high - bins_hz) / (high - centre)).clip(0)
    return triangles * (2 / (high - low))
