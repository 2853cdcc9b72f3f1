"""The speaker encoder's view of sound: log magnitudes in 128 mel bands, one row per 256 samples.

Mel scale and area normalisation are those of M. Slaney's Auditory Toolbox (1998): linear below 1 kHz, logarithmic
above, every band of equal area.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from worker.engine.model.padded_batch import PaddedBatch

SAMPLE_RATE_HZ = 24_000
NUM_BANDS = 128
HOP = 256
"""Samples from one row to the next."""

_FFT_SIZE = 1024
_TOP_HZ = 12_000.0
_POWER_FLOOR = 1e-9
_BAND_FLOOR = 1e-5

_LINEAR_HZ_PER_MEL = 200.0 / 3.0
_KNEE_HZ = 1000.0
_KNEE_MEL = _KNEE_HZ / _LINEAR_HZ_PER_MEL
_LOG_STEP = math.log(6.4) / 27.0
_TOP_MEL = _KNEE_MEL + math.log(_TOP_HZ / _KNEE_HZ) / _LOG_STEP


class LogMel:
    """Samples (B, S) at 24 kHz into (B, S // 256, 128); each recording longer than the 384 that its edges mirror.

    A recording of s samples fills the first s // 256 of its rows.
    """

    def __init__(self, device: torch.device) -> None:
        self._window = torch.hann_window(_FFT_SIZE, device=device)
        self._bands = mel_bands().to(device)

    def __call__(self, samples: Tensor, batch: PaddedBatch) -> Tensor:
        mirrored = batch.mirrored(samples[:, None], (_FFT_SIZE - HOP) // 2)[:, 0]
        spectrum = torch.stft(
            mirrored, _FFT_SIZE, hop_length=HOP, window=self._window, center=False, return_complex=True
        )
        magnitude = torch.sqrt(spectrum.real.square() + spectrum.imag.square() + _POWER_FLOOR)
        return torch.log((self._bands @ magnitude).clamp(min=_BAND_FLOOR)).transpose(1, 2)


def mel_bands() -> Tensor:
    """(128, 513) float32: triangular filters of equal area."""
    bins_hz = torch.linspace(0.0, SAMPLE_RATE_HZ / 2, _FFT_SIZE // 2 + 1, dtype=torch.float64)
    corners_mel = torch.linspace(0.0, _TOP_MEL, NUM_BANDS + 2, dtype=torch.float64)
    corners_hz = torch.tensor([_mel_to_hz(mel) for mel in corners_mel.tolist()], dtype=torch.float64)
    low, centre, high = corners_hz[:-2, None], corners_hz[1:-1, None], corners_hz[2:, None]
    rising = (bins_hz - low) / (centre - low)
    falling = (high - bins_hz) / (high - centre)
    triangles = torch.minimum(rising, falling).clamp(min=0.0)
    return (triangles * (2.0 / (high - low))).float()


def _mel_to_hz(mel: float) -> float:
    if mel < _KNEE_MEL:
        return mel * _LINEAR_HZ_PER_MEL
    return _KNEE_HZ * math.exp((mel - _KNEE_MEL) * _LOG_STEP)
