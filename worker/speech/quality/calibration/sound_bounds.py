"""What is usual of how a checkpoint's speech sounds: for all voices, and for each that was measured. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from worker.speech.quality.sound.measures import SoundMeasures
from worker.speech.quality.sound.semitones import semitones_between
from worker.speech.quality.sound.spectra import strangeness, typical_spectra

TAIL = 0.005
"""Share of the examples that may lie beyond a bound before its margin is added: some of them are bad."""

_CLICK_MARGIN_DB = 2.5
_HOLE_MARGIN_DB = 2.5
_BACKGROUND_MARGIN_DB = 6.0
_CHANGE_MARGIN_DB = 1.5
_LEVEL_MARGIN_DB = 5.0
_STRANGE_MARGIN = 1.12
_PITCH_MARGIN = 1.35
_LEAST_SEMITONES = 2.0

_FOLDS = 2


@dataclass(frozen=True, slots=True)
class SoundBounds:
    """Good speech stays below these; `fall_db` and `rise_db` are of its second half against its first."""

    click_db: float
    hole_db: float
    background_db: float
    fall_db: float
    rise_db: float


_LEAST = SoundBounds(click_db=24.0, hole_db=-16.0, background_db=-60.0, fall_db=3.0, rise_db=2.5)
"""Whatever was measured: what good speech of any voice does, or nobody hears."""


@dataclass(frozen=True, slots=True)
class VoiceNorm:
    """One voice's own. spectra: that stand for all of its. strange_db, strange_stretch_db: how far good speech is from
    them, as a whole and at its strangest. semitones: how far it leaves `pitch_hz`. loudness_lufs: its median, None
    where its utterances are too short to have one.
    """

    sound: SoundBounds
    quietest_db: float
    loudest_db: float
    loudness_lufs: float | None
    pitch_hz: float | None
    semitones: float
    spectra: str
    strange_db: float
    strange_stretch_db: float


@dataclass(frozen=True, slots=True)
class VoiceExample:
    """An utterance as it was measured. loud_db: of its loud windows."""

    text: str
    sound: SoundMeasures
    loud_db: float
    loudness_lufs: float | None


def sound_bounds(examples: Sequence[SoundMeasures]) -> SoundBounds:
    changes = [one.change_db for one in examples]
    return SoundBounds(
        click_db=_bound([one.click_db for one in examples], _CLICK_MARGIN_DB, _LEAST.click_db),
        hole_db=_bound([one.hole_db for one in examples], _HOLE_MARGIN_DB, _LEAST.hole_db),
        background_db=_bound([one.background_db for one in examples], _BACKGROUND_MARGIN_DB, _LEAST.background_db),
        fall_db=_bound([-change for change in changes], _CHANGE_MARGIN_DB, _LEAST.fall_db),
        rise_db=_bound(changes, _CHANGE_MARGIN_DB, _LEAST.rise_db),
    )


def _bound(values: Sequence[float], margin: float, least: float) -> float:
    return round(max(high(values) + margin, least), 1)


def voice_norm(examples: Sequence[VoiceExample]) -> VoiceNorm:
    """Of one voice's examples, some dozens."""
    levels = [one.loud_db for one in examples]
    loudness = [one.loudness_lufs for one in examples if one.loudness_lufs is not None]
    pitch, semitones = _pitch([one.sound.pitch_hz for one in examples if one.sound.pitch_hz is not None])
    strange, stretch = _strange(examples)
    return VoiceNorm(
        sound=sound_bounds([one.sound for one in examples]),
        quietest_db=round(-high([-level for level in levels]) - _LEVEL_MARGIN_DB, 1),
        loudest_db=round(high(levels) + _LEVEL_MARGIN_DB, 1),
        loudness_lufs=round(median(loudness), 2) if loudness else None,
        pitch_hz=pitch,
        semitones=semitones,
        spectra=typical_spectra([one.sound.spectra for one in examples]),
        strange_db=strange,
        strange_stretch_db=stretch,
    )


def _pitch(pitches: Sequence[float]) -> tuple[float | None, float]:
    if not pitches:
        return None, 0.0
    usual = median(pitches)
    away = high([abs(semitones_between(each, usual)) for each in pitches])
    return round(usual, 1), round(max(_LEAST_SEMITONES, _PITCH_MARGIN * away), 2)


def _strange(examples: Sequence[VoiceExample]) -> tuple[float, float]:
    """Of texts that the spectra they are held against have not seen."""
    order = {text: number for number, text in enumerate(dict.fromkeys(one.text for one in examples))}
    found: list[tuple[float, float, int]] = []
    for fold in range(_FOLDS):
        seen = [one.sound.spectra for one in examples if order[one.text] % _FOLDS != fold]
        if seen:
            typical = typical_spectra(seen)
            unseen = [one for one in examples if order[one.text] % _FOLDS == fold]
            found += [strangeness(one.sound.spectra, typical) for one in unseen]
    whole, stretch = (high([each[number] for each in found]) for number in (0, 1))
    return round(_STRANGE_MARGIN * whole, 2), round(_STRANGE_MARGIN * stretch, 2)


def high(values: Sequence[float]) -> float:
    return float(np.quantile(values, 1 - TAIL))
