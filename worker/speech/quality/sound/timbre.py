"""How a voice that no calibration knows sounds, by its own utterances in a job: its pitch and its mean spectrum. Pure.

A clone has no norms in a checkpoint's file. Once some of its utterances have passed, another speaker, a muffled or
noisy one, or another pitch is as far from them as from a measured voice's norms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from worker.speech.quality.findings import Defect, SpeechFinding
from worker.speech.quality.sound.measures import SoundMeasures
from worker.speech.quality.sound.semitones import semitones_between, wrong_pitch
from worker.speech.quality.sound.spectra import AUDIBLE_DB

LEAST_S = 1.5
"""The mean spectrum of a shorter utterance is that of its vowels."""

LEAST_UTTERANCES = 16
"""As the job's other norms: one that is wrong would shift what is usual."""

_LEAST_SEMITONES, _LEAST_AWAY_DB = 3.0, 8.0
"""Bounds are never closer. Of 173 utterances by two voices none was so far from the medians of 16 others: 2.7
semitones, 7.3 dB a band at most, 20 draws each."""
_MARGIN = 1.5


@dataclass(frozen=True, slots=True)
class Timbre:
    """Of one utterance. pitch_hz: None where too little is voiced. bands_db: the mean over what is audible."""

    pitch_hz: float | None
    bands_db: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class TimbreNorm:
    """Medians of a voice's utterances, and how far another may be from them. semitones: 0 without a pitch."""

    pitch_hz: float | None
    semitones: float
    bands_db: tuple[float, ...]
    away_db: float


def timbre_of(sound: SoundMeasures, speech_s: float) -> Timbre | None:
    """None for an utterance that is too short to tell."""
    audible = sound.spectra[sound.spectra.max(axis=1) > AUDIBLE_DB]
    if speech_s < LEAST_S or not len(audible):
        return None
    return Timbre(sound.pitch_hz, tuple(round(float(level), 1) for level in audible.mean(axis=0)))


def timbre_norm(heard: Sequence[Timbre]) -> TimbreNorm | None:
    """None while there are too few."""
    if len(heard) < LEAST_UTTERANCES:
        return None
    bands = tuple(median(levels) for levels in zip(*(each.bands_db for each in heard), strict=True))
    most_away = max(away_db(each.bands_db, bands) for each in heard)
    pitches = [each.pitch_hz for each in heard if each.pitch_hz is not None]
    pitch = median(pitches) if len(pitches) >= LEAST_UTTERANCES else None
    spread = max((abs(semitones_between(each, pitch)) for each in pitches), default=0.0) if pitch else 0.0
    semitones = max(_LEAST_SEMITONES, _MARGIN * spread) if pitch else 0.0
    return TimbreNorm(pitch, semitones, bands, max(_LEAST_AWAY_DB, _MARGIN * most_away))


def unlike_timbre(timbre: Timbre, norm: TimbreNorm) -> Iterator[SpeechFinding]:
    """What of an utterance is not as its voice's others are."""
    away = away_db(timbre.bands_db, norm.bands_db)
    if away > norm.away_db:
        yield SpeechFinding(Defect.OTHER_VOICE, away, norm.away_db)
    yield from wrong_pitch(timbre.pitch_hz, norm.pitch_hz, norm.semitones)


def away_db(bands: Sequence[float], others: Sequence[float]) -> float:
    return float(np.sqrt(np.mean(np.square(np.subtract(bands, others)))))
