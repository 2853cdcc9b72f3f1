"""What is wrong with how an utterance sounds, against what is usual for its checkpoint and its voice. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from worker.speech.quality.calibration.sound_bounds import SoundBounds, VoiceNorm
from worker.speech.quality.findings import Defect, SpeechFinding
from worker.speech.quality.sound.measures import SoundMeasures
from worker.speech.quality.sound.semitones import semitones_between
from worker.speech.quality.sound.spectra import strangeness
from worker.speech.quality.sound.spectrum import HOP_S


def sound_findings(measures: SoundMeasures, general: SoundBounds, voice: VoiceNorm | None) -> Iterator[SpeechFinding]:
    """voice: None for one that was not measured; then only what no voice of the checkpoint does is found."""
    bounds = voice.sound if voice else general
    if measures.click_db > bounds.click_db:
        yield SpeechFinding(Defect.CLICK, measures.click_db, bounds.click_db, measures.click_at_s)
    if measures.hole_db > bounds.hole_db:
        yield SpeechFinding(Defect.HOLE, measures.hole_db, bounds.hole_db, measures.hole_at_s)
    if measures.background_db > bounds.background_db:
        yield SpeechFinding(Defect.BACKGROUND, measures.background_db, bounds.background_db)
    if not -bounds.fall_db <= measures.change_db <= bounds.rise_db:
        bound = bounds.rise_db if measures.change_db > 0 else -bounds.fall_db
        yield SpeechFinding(Defect.LEVEL_CHANGE, measures.change_db, bound)
    if voice:
        yield from _unlike(measures, voice)


def _unlike(measures: SoundMeasures, voice: VoiceNorm) -> Iterator[SpeechFinding]:
    whole, stretch, window = strangeness(measures.spectra, voice.spectra)
    if whole > voice.strange_db:
        yield SpeechFinding(Defect.OTHER_VOICE, whole, voice.strange_db)
    if stretch > voice.strange_stretch_db:
        yield SpeechFinding(Defect.NOISE, stretch, voice.strange_stretch_db, window * HOP_S)
    if measures.pitch_hz is not None and voice.pitch_hz is not None:
        semitones = semitones_between(measures.pitch_hz, voice.pitch_hz)
        if abs(semitones) > voice.semitones:
            bound = voice.semitones if semitones > 0 else -voice.semitones
            yield SpeechFinding(Defect.WRONG_PITCH, semitones, bound)
