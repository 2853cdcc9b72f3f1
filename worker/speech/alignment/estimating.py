"""Times of words without hearing what they are: they share what is not silence by their length. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reading.estimates import speech_units

HOP_S = 0.01

_QUIETER = 0.02
"""Than the loudest, and it counts as silence: 34 dB."""
_LEAST_SILENCE = 12
"""Hops: what is shorter is the closure of a consonant."""
_OF_A_WORD = 0.5
_ROUNDING = 1e-6


def character_times(pcm: NDArray[np.int16], sample_rate_hz: int, words: Sequence[str]) -> list[list[float]]:
    """For each word when each of its characters begins, and at last when it ends, in seconds."""
    clock = np.concatenate(([0.0], np.cumsum(_sounding(pcm, sample_rate_hz))))
    weights = [_weight(word) for word in words]
    times: list[list[float]] = []
    said = 0.0
    for word, weight in zip(words, weights, strict=True):
        shares = said + weight * np.arange(len(word) + 1) / len(word)
        said += weight
        places = (shares / sum(weights) * clock[-1]).clip(0, clock[-1] - _ROUNDING)
        # A word begins behind a silence and ends before one.
        begins = np.searchsorted(clock, places[:-1] + _ROUNDING, "right") - 1
        ends = np.searchsorted(clock, places[-1:] - _ROUNDING, "left")
        hops = np.concatenate([begins + places[:-1] - clock[begins], ends + places[-1:] - clock[ends]])
        times.append(np.maximum.accumulate(hops * HOP_S).tolist())
    return times


def _weight(word: str) -> float:
    """How long it takes, in letters; a word more takes a little more."""
    return speech_units(word) + _OF_A_WORD


def _sounding(pcm: NDArray[np.int16], sample_rate_hz: int) -> NDArray[np.float64]:
    """One for each hop with sound, else nothing; all ones if there is none."""
    hop = max(1, round(sample_rate_hz * HOP_S))
    hops = max(1, len(pcm) // hop)
    samples = np.pad(pcm.astype(np.float32), (0, max(0, hop - len(pcm))))[: hops * hop]
    loudness = np.sqrt(np.square(samples.reshape(hops, hop)).mean(1))
    sounding = (loudness > loudness.max() * _QUIETER).astype(np.float64)
    changes = np.flatnonzero(np.diff(sounding)) + 1
    for start, end in itertools.pairwise(changes):
        if not sounding[start] and end - start < _LEAST_SILENCE:
            sounding[start:end] = 1.0
    return sounding if sounding.any() else np.ones(hops)
