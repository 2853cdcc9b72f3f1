"""What an utterance sounds like, measured without another model: clicks, holes, levels, pitch, spectra. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from worker.engine.interface import Speech
from worker.speech.audio.decoder_start import without_click
from worker.speech.quality.sound.clicks import click_db
from worker.speech.quality.sound.holes import hole_edge_db
from worker.speech.quality.sound.levels import background_db, level_change_db, paired_levels, short_levels
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
