"""The spectra that a voice has: some dozens that stand for all, and how far others are from them. Pure."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from worker.speech.quality.quantiles import quantile
from worker.speech.quality.sound.spectrum import NUM_BANDS

AUDIBLE_DB = -25.0
"""A window counts for the whole from here, against the loud ones."""

STRETCH_WINDOWS = 6
"""An eighth of a second: what is strange for so long is no transition between two sounds."""

_SPECTRA = 64
_ROUNDS = 12
_MOST_WINDOWS = 12_000
_PIECE_WINDOWS = 256
"""At a time: linear algebra libraries divide larger products among threads, which spin while they wait."""
_LOWEST_DB = -60.0
_STEP_DB = 0.5

Spectra = NDArray[np.float32]
"""(windows, NUM_BANDS): dB against the utterance's loud windows."""


def typical_spectra(spectra: Sequence[Spectra]) -> str:
    """Those that stand for all of these utterances' windows, as `strangeness` takes them. Always the same for the same.

    k-means; steps of half a dB in base64, because a calibration has them for every voice.
    """
    windows = np.concatenate(spectra).astype(np.float64)
    dice = np.random.default_rng(0)
    windows = windows[np.sort(dice.permutation(len(windows))[:_MOST_WINDOWS])]
    centres = windows[dice.permutation(len(windows))[:_SPECTRA]]
    for _ in range(_ROUNDS):
        nearest = _squares(windows, centres).argmin(axis=1)
        centres = np.stack(
            [windows[nearest == k].mean(axis=0) if (nearest == k).any() else centres[k] for k in range(len(centres))]
        )
    return base64.b64encode(np.round(np.clip(centres / _STEP_DB, -127, 127)).astype(np.int8).tobytes()).decode()


def strangeness(spectra: Spectra, typical: str) -> tuple[float, float, int]:
    """(whole, stretch, window): dB a band from the nearest typical spectrum, the mean over what is audible; the same of
    the strangest stretch, and the window at which that begins.
    """
    centres = _unpacked(typical)
    pieces = [spectra[first : first + _PIECE_WINDOWS] for first in range(0, len(spectra), _PIECE_WINDOWS)]
    nearest = np.concatenate([_squares(piece, centres).min(axis=1) for piece in pieces])
    away = np.sqrt(np.maximum(nearest, 0) / NUM_BANDS)
    audible = away[spectra.max(axis=1) > AUDIBLE_DB]
    length = min(STRETCH_WINDOWS, len(away))
    stretches = np.convolve(away, np.full(length, 1 / length), "valid")
    place = int(stretches.argmax())
    return float(audible.mean()) if len(audible) else 0.0, float(stretches[place]), place


def against_loud(levels: NDArray[np.float32]) -> Spectra:
    """The windows' bands against the loud windows of the utterance, so that its level does not count."""
    totals = 10 * np.log10(np.mean(10 ** (levels / 10), axis=1))
    return np.maximum(levels - np.float32(quantile(totals, 0.9)), np.float32(_LOWEST_DB))


@lru_cache(maxsize=64)
def _unpacked(typical: str) -> Spectra:
    steps = np.frombuffer(base64.b64decode(typical), np.int8).reshape(-1, NUM_BANDS)
    return steps.astype(np.float32) * np.float32(_STEP_DB)


def _squares(windows: NDArray[np.floating], centres: NDArray[np.floating]) -> NDArray[np.floating]:
    """Squared distances, (windows, centres)."""
    squares = windows @ (-2 * centres.T)
    squares += np.square(centres).sum(axis=1)
    squares += np.square(windows).sum(axis=1)[:, None]
    return squares
