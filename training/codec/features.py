"""What a frame of 80 ms sounds like, in numbers: eight smoothed spectra, pitch and voicing, every 10 ms.

The spectra are cepstra cut at a low order: that keeps the envelope and leaves out the harmonics, which pitch describes,
and the ripple of noise, which nobody hears and which a code would spend its bits on.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from training.dimensions import SAMPLE_RATE_HZ, SAMPLES_PER_FRAME

HOP = 240
COLUMNS = SAMPLES_PER_FRAME // HOP
NUM_CEPSTRA = 28
NUM_FEATURES = COLUMNS * (NUM_CEPSTRA + 2)
_FFT = 1024
_MELS = 80
_FLOOR = 3e-3
_LOWEST_HZ, _HIGHEST_HZ = 70.0, 360.0
_PITCH_CENTRE_HZ = 150.0
_PITCH_WEIGHT, _VOICING_WEIGHT, _ENERGY_WEIGHT = 6.0, 1.5, 0.6
_CHUNK, _MARGIN = 1_500, 12


def mel_filters(num_mels: int, fft: int) -> Tensor:
    """Triangles of area one on the mel scale of O'Shaughnessy, (num_mels, fft / 2 + 1)."""
    top = 2595 * math.log10(1 + SAMPLE_RATE_HZ / 2 / 700)
    points = 700 * (10 ** (torch.linspace(0, top, num_mels + 2, dtype=torch.float64) / 2595) - 1)
    bins = torch.linspace(0, SAMPLE_RATE_HZ / 2, fft // 2 + 1, dtype=torch.float64)[None]
    rising = (bins - points[:-2, None]) / (points[1:-1] - points[:-2])[:, None]
    falling = (points[2:, None] - bins) / (points[2:] - points[1:-1])[:, None]
    weights = torch.minimum(rising, falling).clamp(min=0)
    return (weights / weights.sum(1, keepdim=True).clamp(min=1e-8)).float()


class FrameFeatures:
    """Weighted so that a squared error means about the same to the ear in every entry."""

    def __init__(self, device: torch.device) -> None:
        self._window = torch.hann_window(_FFT, device=device)
        self._filters = mel_filters(_MELS, _FFT).to(device)
        self._cosines = _cosines(NUM_CEPSTRA, _MELS).to(device)
        correlation = torch.fft.irfft(torch.fft.rfft(self._window, 2 * _FFT).abs() ** 2)[:_FFT]
        self._window_correlation = (correlation / correlation[0]).clamp(min=0.1)

    def __call__(self, samples: Tensor) -> Tensor:
        """samples: float32 (T * 1920,) -> (T, NUM_FEATURES)."""
        frames = samples.shape[0] // SAMPLES_PER_FRAME
        parts = []
        for first in range(0, frames, _CHUNK):
            low, high = max(0, first - _MARGIN), min(frames, first + _CHUNK + _MARGIN)
            part = self._frames(samples[low * SAMPLES_PER_FRAME : high * SAMPLES_PER_FRAME])
            parts.append(part[first - low : first - low + min(_CHUNK, frames - first)])
        return torch.cat(parts)

    def _frames(self, samples: Tensor) -> Tensor:
        columns = F.pad(samples, (_FFT // 2 - HOP // 2, _FFT // 2)).unfold(0, _FFT, HOP)[: samples.shape[0] // HOP]
        spectra = torch.fft.rfft(columns * self._window).abs()
        cepstra = torch.log(spectra @ self._filters.T + _FLOOR) @ self._cosines.T
        cepstra = torch.cat((cepstra[:, :1] * _ENERGY_WEIGHT, cepstra[:, 1:]), 1)
        pitch, voicing = self._pitch(columns)
        entries = (cepstra, pitch[:, None] * _PITCH_WEIGHT, voicing[:, None] * _VOICING_WEIGHT)
        return torch.cat(entries, 1).view(-1, NUM_FEATURES)

    def _pitch(self, columns: Tensor) -> tuple[Tensor, Tensor]:
        """log2 of the pitch over 150 Hz, led through what has none, and voicing 0 to 1: the best autocorrelation."""
        centred = (columns - columns.mean(1, keepdim=True)) * self._window
        correlation = torch.fft.irfft(torch.fft.rfft(centred, 2 * _FFT).abs() ** 2)[:, :_FFT]
        quiet = 1e-4 * _FFT * 0.05
        correlation = correlation / (correlation[:, :1] + quiet) / self._window_correlation
        shortest, longest = int(SAMPLE_RATE_HZ / _HIGHEST_HZ), int(SAMPLE_RATE_HZ / _LOWEST_HZ)
        lags = torch.arange(shortest, longest, device=columns.device)
        # A slight preference for short periods: twice the period correlates as well.
        strength, best = (correlation[:, shortest:longest] - 0.0004 * (lags - shortest)).max(1)
        voicing = ((strength - 0.3) / 0.3).clamp(0, 1)
        pitch = torch.log2(SAMPLE_RATE_HZ / lags[best].float() / _PITCH_CENTRE_HZ)
        voiced = voicing > 0.5
        if int(voiced.sum()) > 2:
            voiced &= (pitch - pitch[voiced].median()).abs() < 0.8
        return _median_of_five(_bridge(pitch, voiced)), voicing


def _cosines(order: int, size: int) -> Tensor:
    """The first rows of the orthonormal DCT-II, (order, size)."""
    angles = math.pi / size * (torch.arange(size) + 0.5)[None] * torch.arange(order)[:, None]
    rows = torch.cos(angles) * math.sqrt(2 / size)
    rows[0] /= math.sqrt(2)
    return rows


def _bridge(values: Tensor, known: Tensor) -> Tensor:
    """Straight lines through what is not known; (N,)."""
    if not bool(known.any()):
        return torch.zeros_like(values)
    size = values.shape[0]
    places = torch.arange(size, device=values.device)
    before = torch.where(known, places, -1).cummax(0).values
    after = size - 1 - torch.where(known.flip(0), places, -1).cummax(0).values.flip(0)
    after = torch.where(after >= size, before, after)
    before = torch.where(before < 0, after, before)
    share = (places - before).float() / (after - before).clamp(min=1)
    return values[before] * (1 - share) + values[after] * share


def _median_of_five(values: Tensor) -> Tensor:
    return F.pad(values[None, None], (2, 2), mode="replicate")[0, 0].unfold(0, 5, 1).median(1).values
