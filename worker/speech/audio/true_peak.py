"""True peak after ITU-R BS.1770-5, annex 2, of mono audio that arrives in pieces.

The largest magnitude of the signal interpolated to four times its sample rate. Interpolation can raise a stretch by a
known factor at most, so only stretches near the highest peak so far are interpolated: the result is the same.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

OVERSAMPLING = 4
TAPS = 32
"""Of each phase of the interpolator, a sinc under a Kaiser window."""

KAISER_BETA = 6.0
STRETCH = 2048

ROW = 64
"""Samples whose neighbourhood is interpolated as one row of a product of matrices."""

ROWS = 14
"""In a product: libraries divide larger ones among threads, which spin while they wait for each other."""

Signal = NDArray[np.float64]
"""Mono samples of full scale 1, shape (N,)."""


def _phases() -> NDArray[np.float64]:
    """Shape (3, TAPS): the values a quarter, a half and three quarters after a sample, from those around it."""
    places = np.arange(TAPS) - (TAPS // 2 - 1)
    window = np.kaiser(TAPS + 1, KAISER_BETA)[:-1]
    rows = [np.sinc(places - phase / OVERSAMPLING) * window for phase in range(1, OVERSAMPLING)]
    return np.array([row / row.sum() for row in rows])


def _between() -> NDArray[np.float32]:
    """Shape (ROW + TAPS - 1, 3 ROW): from a row with what is around it to the values between its samples."""
    values = np.zeros((ROW + TAPS - 1, OVERSAMPLING - 1, ROW), np.float32)
    for place in range(ROW):
        values[place : place + TAPS, :, place] = _PHASES.T
    return values.reshape(ROW + TAPS - 1, -1)


_PHASES = _phases()
_BETWEEN = _between()
_MOST_GAIN = float(np.abs(_PHASES).sum(axis=1).max())


class TruePeakMeter:
    """Takes samples in order; `value` may be read at any time."""

    def __init__(self) -> None:
        self._peak = 0.0
        self._past = np.zeros(TAPS - 1)

    def add(self, samples: Signal) -> None:
        framed = np.concatenate((self._past, samples))
        self._past = framed[len(framed) - TAPS + 1 :]
        self._peak = _highest(framed, self._peak)

    def value(self) -> float:
        """Of full scale 1, as if silence followed."""
        return _highest(np.concatenate((self._past, np.zeros(TAPS - 1))), self._peak)


def magnitudes(samples: NDArray[np.float32], above: float) -> NDArray[np.float32]:
    """Of each sample and what is between it and the next, shape (N,), as if silence were around them.

    above: where no larger peak is possible, the greatest sample is the answer.
    """
    found = np.abs(samples)
    rows = np.pad(found, (0, -len(found) % ROW)).reshape(-1, ROW)
    tops = np.pad(rows.max(axis=1, initial=0.0), 1)
    near = np.flatnonzero(np.maximum.reduce((tops[:-2], tops[1:-1], tops[2:])) * _MOST_GAIN > above)
    framed = np.pad(samples, (TAPS // 2 - 1, TAPS // 2 + ROW))
    frames = np.lib.stride_tricks.sliding_window_view(framed, ROW + TAPS - 1)[::ROW]
    for start in range(0, len(near), ROWS):
        which = near[start : start + ROWS]
        between = np.abs(frames[which] @ _BETWEEN).reshape(-1, OVERSAMPLING - 1, ROW).max(axis=1)
        rows[which] = np.maximum(rows[which], between)
    return rows.reshape(-1)[: len(found)]


def _highest(framed: Signal, peak: float) -> float:
    """The larger of `peak` and what is found between the samples."""
    magnitude = np.abs(framed)
    peak = max(peak, float(magnitude.max(initial=0.0)))
    starts = np.arange(0, len(framed) - TAPS + 1, STRETCH)
    if not len(starts):
        return peak
    # A stretch is interpolated from its own samples and the first of the next one.
    tops = np.maximum.reduceat(magnitude, starts)
    reach = np.maximum(tops, np.append(tops[1:], magnitude[starts[-1] :].max()))
    for place in np.argsort(reach)[::-1]:
        if reach[place] * _MOST_GAIN <= peak:
            break
        stretch = framed[starts[place] : starts[place] + STRETCH + TAPS - 1]
        peak = max(peak, *(float(np.abs(np.correlate(stretch, phase, "valid")).max()) for phase in _PHASES))
    return peak
