"""A true-peak limiter that looks ahead: it takes off what would pass a ceiling, and leaves the rest bit for bit. Pure.

    demand  what has to be taken off at each place, from the signal interpolated to four times its sample rate
    held    the most that is demanded within 21 ms before and behind a place
    smooth  three means in a row over windows that together are as long: at every place at least the demand, and without
            a corner, so that what it does to a voice is no distortion

Speech comes by segments that begin and end in silence, so each is limited alone: equal speech stays equal whatever is
spoken before and after it. The time is linear in the samples, and little where nothing comes near the ceiling.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from worker.speech.audio.true_peak import TAPS, magnitudes

STEP_S = 0.0007
"""Between two places at which it is worked out what is taken off."""

_MEANS = 3

REACH = 30
"""Steps to either side, a multiple of `_MEANS`: two periods of a low voice, whose waves the gain does not follow."""

_HEADROOM = 10 ** (-0.01 / 20)
"""Under the ceiling: what is taken off changes a little from one sample to the next, and so does what is between."""

Signal = NDArray[np.float32]


def limited(signal: Signal, ceiling: float, sample_rate_hz: int) -> Signal:
    """The signal with its true peak at the ceiling or below; the same object where it was there already.

    signal: float32 (N,), as if silence were around it; ceiling: a magnitude on its scale.
    """
    step = max(1, round(STEP_S * sample_rate_hz))
    demand = _demand(signal, ceiling * _HEADROOM, step)
    return signal if demand is None else _less(signal, _smooth(_held(demand)), step)


def _demand(signal: Signal, ceiling: float, step: int) -> NDArray[np.float64] | None:
    """The share of the signal that has to go, from 0 to 1, the most of every step of samples; None for nothing.

    A place between two steps is between what is taken off at both, so each also has what the step before it demands.
    """
    found = magnitudes(signal, ceiling)
    if len(signal):
        before, behind = _beyond(signal, ceiling)
        found[0], found[-1] = max(found[0], before), max(found[-1], behind)
    if float(found.max(initial=0.0)) <= ceiling:
        return None
    highest = np.maximum.reduceat(found, np.arange(0, len(found), step))
    share = 1 - ceiling / np.maximum(highest, ceiling)
    return np.maximum(np.append(share, 0.0), np.append(0.0, share))


def _beyond(signal: Signal, ceiling: float) -> tuple[np.float32, np.float32]:
    """The highest in the silence before the signal and after it, which interpolation fills from its samples."""
    before = magnitudes(np.pad(signal[: 2 * TAPS], (TAPS, 0)), ceiling)
    behind = magnitudes(np.pad(signal[-2 * TAPS :], (0, TAPS)), ceiling)
    return before[:TAPS].max(), behind[-TAPS:].max()


def _held(demand: NDArray[np.float64]) -> NDArray[np.float64]:
    """The most within `REACH` places to either side, from `REACH` places before the first to as many behind the last;
    by windows of twice the length at each turn."""
    held = np.pad(demand, 2 * REACH)
    length, wanted = 1, 2 * REACH + 1
    while length < wanted:
        shift = min(length, wanted - length)
        held = np.maximum(held[:-shift], held[shift:])
        length += shift
    return held


def _smooth(held: NDArray[np.float64]) -> NDArray[np.float64]:
    """Means over windows that together are `REACH` places to either side, by which it is shorter at both ends."""
    window = np.ones(2 * REACH // _MEANS + 1)
    for _ in range(_MEANS):
        held = np.convolve(held, window / len(window), "valid")
    return held


def _less(signal: Signal, shares: NDArray[np.float64], step: int) -> Signal:
    """Without these shares, which are of the places between steps; on a straight line from each to the next."""
    rows = np.pad(signal, (0, -len(signal) % step)).reshape(-1, step)
    which = np.flatnonzero(np.maximum(shares[:-1], shares[1:]))
    before, behind = shares[which, np.newaxis], shares[which + 1, np.newaxis]
    rows[which] *= (1 - before - (behind - before) * (np.arange(step) / step)).astype(np.float32)
    return rows.reshape(-1)[: len(signal)]
