"""Integrated loudness after ITU-R BS.1770-5 and EBU R128 of mono audio that arrives in pieces.

    weighting  a shelf and a high-pass, the recommendation's two filters at the sample rate of the signal
    bins       sums of squares over 100 ms; four in a row are a gating block of 400 ms
    gate       blocks below -70 LUFS do not count, then those 10 LU below the mean of the others

The filters are applied as one finite response by FFT, hundreds of times faster than real time in numpy; the response
has decayed below 1e-12 where it is cut off. Memory: eight bytes for every 100 ms, whatever the length.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from worker.true_peak import Signal

BIN_S = 0.1
BINS_PER_BLOCK = 4

ABSOLUTE_GATE_LUFS = -70.0
RELATIVE_GATE_LU = -10.0
OFFSET_DB = -0.691

# Analogue prototypes whose bilinear transforms at 48 kHz are the coefficients that BS.1770 prints.
SHELF_HZ, SHELF_Q, SHELF_DB, SHELF_EXPONENT = 1681.974450955533, 0.7071752369554196, 3.999843853973347, 0.499666774155
HIGH_PASS_HZ, HIGH_PASS_Q = 38.13547087602444, 0.5003270373238773

RESPONSE_S = 0.12
FFT_SAMPLES = 5 << 12
"""Of transforms long enough for the response the one that takes least for a sample: with its spectrum it stays in a
core's own cache, which the next power of two does not."""


class LoudnessMeter:
    """Takes samples in order; the loudness so far may be read at any time."""

    def __init__(self, sample_rate_hz: int) -> None:
        self._bin_samples = round(BIN_S * sample_rate_hz)
        self._spectrum = _weighting_spectrum(sample_rate_hz)
        self._past = np.zeros(round(RESPONSE_S * sample_rate_hz) - 1)
        self._unbinned = np.zeros(0)
        self._bins: list[NDArray[np.float64]] = []

    def add(self, samples: Signal) -> None:
        step = FFT_SAMPLES - len(self._past)
        for start in range(0, len(samples), step):
            self._bin(self._weighted(samples[start : start + step]))

    def integrated_lufs(self) -> float:
        """-inf for silence, and for less than 400 ms, of which loudness is not defined."""
        bins = np.concatenate([np.zeros(0), *self._bins])
        if len(bins) < BINS_PER_BLOCK:
            return -math.inf
        sums = np.convolve(bins, np.ones(BINS_PER_BLOCK), "valid")
        return _gated(sums / (BINS_PER_BLOCK * self._bin_samples))

    def _weighted(self, samples: Signal) -> Signal:
        """The next samples behind the filters (overlap-save)."""
        framed = np.concatenate((self._past, samples))
        filtered = np.fft.irfft(np.fft.rfft(framed, FFT_SAMPLES) * self._spectrum, FFT_SAMPLES)
        self._past, num_past = framed[len(samples) :], len(self._past)
        return filtered[num_past : len(framed)]

    def _bin(self, weighted: Signal) -> None:
        pending = np.concatenate((self._unbinned, weighted))
        num_binned = len(pending) // self._bin_samples * self._bin_samples
        if num_binned:
            self._bins.append(np.square(pending[:num_binned]).reshape(-1, self._bin_samples).sum(axis=1))
        self._unbinned = pending[num_binned:]


def _gated(powers: NDArray[np.float64]) -> float:
    """LUFS of the mean square of those blocks that count."""
    audible = powers[powers > _power(ABSOLUTE_GATE_LUFS)]
    if not len(audible):
        return -math.inf
    counted = audible[audible > audible.mean() * 10 ** (RELATIVE_GATE_LU / 10)]
    return OFFSET_DB + 10 * math.log10(float(counted.mean()))


def _power(lufs: float) -> float:
    return 10 ** ((lufs - OFFSET_DB) / 10)


@lru_cache(maxsize=8)
def _weighting_spectrum(sample_rate_hz: int) -> NDArray[np.complex128]:
    spectrum = np.fft.rfft(_weighting_response(sample_rate_hz), FFT_SAMPLES)
    spectrum.flags.writeable = False
    return spectrum


def _weighting_response(sample_rate_hz: int) -> Signal:
    """What both filters make of one impulse, shape (RESPONSE_S,)."""
    impulse = np.zeros(round(RESPONSE_S * sample_rate_hz))
    impulse[0] = 1.0
    return _filtered(_filtered(impulse, *_shelf(sample_rate_hz)), *_high_pass(sample_rate_hz))


Coefficients = tuple[float, float, float]


def _shelf(sample_rate_hz: int) -> tuple[Coefficients, Coefficients]:
    k = math.tan(math.pi * SHELF_HZ / sample_rate_hz)
    high = 10 ** (SHELF_DB / 20)
    band = high**SHELF_EXPONENT
    scale = 1 + k / SHELF_Q + k * k
    forward = (high + band * k / SHELF_Q + k * k, 2 * (k * k - high), high - band * k / SHELF_Q + k * k)
    back = (scale, 2 * (k * k - 1), 1 - k / SHELF_Q + k * k)
    return _over(forward, scale), _over(back, scale)


def _high_pass(sample_rate_hz: int) -> tuple[Coefficients, Coefficients]:
    k = math.tan(math.pi * HIGH_PASS_HZ / sample_rate_hz)
    scale = 1 + k / HIGH_PASS_Q + k * k
    return (1.0, -2.0, 1.0), _over((scale, 2 * (k * k - 1), 1 - k / HIGH_PASS_Q + k * k), scale)


def _over(values: Coefficients, scale: float) -> Coefficients:
    first, second, third = values
    return first / scale, second / scale, third / scale


def _filtered(samples: Signal, forward: Coefficients, back: Coefficients) -> Signal:
    """A second-order section by its difference equation; for the few samples of a response."""
    output = np.zeros(len(samples))
    x1 = x2 = y1 = y2 = 0.0
    for place, x in enumerate(samples.tolist()):
        y = forward[0] * x + forward[1] * x1 + forward[2] * x2 - back[1] * y1 - back[2] * y2
        output[place] = y
        x1, x2, y1, y2 = x, x1, y, y1
    return output
