"""What an utterance sounds like, measured without another model: clicks, holes, levels, pitch, spectra. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worker.engine.interface import Pcm, Speech
from worker.speech.audio.decoder_start import without_click
from worker.speech.quality.measures import SPEECH_DB, WINDOW_S, runs
from worker.speech.quality.quantiles import quantile
from worker.speech.quality.sound.pitch import pitch_hz
from worker.speech.quality.sound.spectra import Spectra, against_loud
from worker.speech.quality.sound.spectrum import band_levels

SHORT_WINDOW_S = WINDOW_S / 2

LEAST_S = 1.5
"""Halves of a shorter one are a word each, and words differ."""

_LOUD_SHARE = 0.9
_QUIET_WINDOWS = 4

_FLOOR = 1e-12

Levels = NDArray[np.float32]
"""Of one window after the other, in dB against the loud ones."""

_NEAR = 2
"""Windows on either side whose unrest a click is held against."""
_ORDER = 3
_PIECE_WINDOWS = 128
"""At a time: what is made of so many stays in a core's own cache, and costs a third."""
_LEAST = 1e-4
"""Unrest that nobody hears, as a factor of full scale."""


@dataclass(frozen=True, slots=True)
class SoundMeasures:
    """Each as its module says it. pitch_hz: None where too little is voiced."""

    click_db: float
    click_at_s: float
    hole_db: float
    hole_at_s: float
    background_db: float
    change_db: float
    pitch_hz: float | None
    spectra: Spectra


def measure_sound(speech: Speech, loud_db: float) -> SoundMeasures:
    """speech: audible, its samples finite. loud_db: of its loud windows."""
    rate_hz = speech.sample_rate_hz
    pcm = without_click(speech.pcm, rate_hz)
    short = short_levels(pcm, rate_hz, loud_db)
    levels = paired_levels(short)
    click, click_at_s = click_db(pcm, rate_hz, loud_db)
    hole, hole_at_s = hole_edge_db(short)
    return SoundMeasures(
        click_db=click,
        click_at_s=click_at_s,
        hole_db=hole,
        hole_at_s=hole_at_s,
        background_db=background_db(levels),
        change_db=level_change_db(levels),
        pitch_hz=pitch_hz(pcm, rate_hz),
        spectra=against_loud(band_levels(pcm, rate_hz)),
    )


NO_HOLE_DB = -60.0

_DEEP_DB = -40.0
"""Against the loud windows: below it, sound is inaudible."""
_LEAST_WINDOWS = 3
_EDGE_WINDOWS = 3


def hole_edge_db(levels: NDArray[np.floating]) -> tuple[float, float]:
    """(dB, seconds): the softer edge of the hardest hole against the loud windows, and where. `NO_HOLE_DB` for none.

    levels: of windows of `SHORT_WINDOW_S`, against the loud ones.
    """
    starts, ends = runs(levels < _DEEP_DB)
    is_inside = (starts >= _EDGE_WINDOWS) & (ends + _EDGE_WINDOWS <= len(levels)) & (ends - starts >= _LEAST_WINDOWS)
    starts, ends = starts[is_inside], ends[is_inside]
    if not len(starts):
        return NO_HOLE_DB, 0.0
    near = np.arange(_EDGE_WINDOWS)
    before = levels[starts[:, None] - 1 - near].max(axis=1)
    behind = levels[ends[:, None] + near].max(axis=1)
    edges = np.minimum(before, behind)
    hardest = int(edges.argmax())
    return max(NO_HOLE_DB, float(edges[hardest])), float(starts[hardest] * SHORT_WINDOW_S)


def click_db(pcm: Pcm, sample_rate_hz: int, loud_db: float) -> tuple[float, float]:
    """(dB, seconds): how far the sharpest sample stands out of what is around it, and where; 0 for none.

    The third difference is small in any sound through a loudspeaker. For a click of one sample, it is three times the
    click's height. Sound 40 dB below the loud windows is inaudible.
    """
    size = round(SHORT_WINDOW_S * sample_rate_hz)
    count = (len(pcm) - _ORDER) // size
    if count < 2 * _NEAR + 1:
        return 0.0, 0.0
    pieces = [
        _unrest(pcm, first, min(first + _PIECE_WINDOWS, count), size) for first in range(0, count, _PIECE_WINDOWS)
    ]
    peaks, energies = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
    # A click spreads over four third differences; without them its own window would hide it.
    calm = np.maximum(energies - 2.3 * np.square(peaks), 0)
    around = np.convolve(calm, np.ones(2 * _NEAR + 1), "same") / (size * (2 * _NEAR + 1))
    heard = np.sqrt(around) + max(_LEAST, 0.01 * 10 ** (loud_db / 20))
    ratios = peaks / heard
    place = int(ratios.argmax())
    return 20 * float(np.log10(max(ratios[place], 1e-9))), place * SHORT_WINDOW_S


def _unrest(pcm: Pcm, first: int, end: int, size: int) -> tuple[Levels, Levels]:
    """(peaks, energies) of the third difference in each of the windows [first, end)."""
    sharp = np.diff(pcm[first * size : end * size + _ORDER], _ORDER)
    squares = np.square(sharp, out=sharp).reshape(end - first, size)
    return np.sqrt(squares.max(axis=1)), squares.sum(axis=1)


def short_levels(pcm: Pcm, sample_rate_hz: int, loud_db: float) -> Levels:
    """Of windows of `SHORT_WINDOW_S`; what does not fill the last one does not count."""
    size = round(SHORT_WINDOW_S * sample_rate_hz)
    windows = pcm[: len(pcm) // size * size].reshape(-1, size)
    energies = np.einsum("ij,ij->i", windows, windows)
    return 10 * np.log10(energies / np.float32(size) + np.float32(_FLOOR)) - np.float32(loud_db)


def paired_levels(levels: Levels) -> Levels:
    """Of windows twice as long."""
    power = 10 ** (levels[: len(levels) // 2 * 2] / np.float32(10))
    return 10 * np.log10((power[::2] + power[1::2]) / 2)


def background_db(levels: Levels) -> float:
    """The quietest 40 ms; 0 where there are not so many. levels: of windows of `WINDOW_S`."""
    if len(levels) < _QUIET_WINDOWS:
        return 0.0
    power = np.convolve(10 ** (levels / 10), np.full(_QUIET_WINDOWS, 1 / _QUIET_WINDOWS), "valid")
    return 10 * float(np.log10(max(power.min(), _FLOOR)))


def level_change_db(levels: Levels) -> float:
    """By how much the loud windows of the second half are louder than those of the first; 0 for what is short."""
    audible = np.flatnonzero(levels >= SPEECH_DB)
    if not len(audible) or (audible[-1] - audible[0]) * WINDOW_S < LEAST_S:
        return 0.0
    middle = (audible[0] + audible[-1]) // 2
    first, second = levels[audible[0] : middle], levels[middle : audible[-1] + 1]
    return quantile(second, _LOUD_SHARE) - quantile(first, _LOUD_SHARE)
