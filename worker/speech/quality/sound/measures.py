"""What an utterance sounds like, measured without another model: clicks, holes, levels, pitch, spectra. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worker.engine.interface import Speech
from worker.speech.audio.decoder_start import without_click
from worker.speech.quality.runs import runs
from worker.speech.quality.sound.clicks import click_db
from worker.speech.quality.sound.levels import (
    SHORT_WINDOW_S,
    background_db,
    level_change_db,
    paired_levels,
    short_levels,
)
from worker.speech.quality.sound.pitch import pitch_hz
from worker.speech.quality.sound.spectra import Spectra, against_loud
from worker.speech.quality.sound.spectrum import band_levels


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
"""Against the loud windows: nothing is heard there."""
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
