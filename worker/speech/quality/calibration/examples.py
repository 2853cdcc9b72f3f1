"""An utterance that a calibration learns from, as it was measured. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from worker.engine.interface import Speech
from worker.speech.audio.loudness import loudness_of
from worker.speech.quality.measures import SpeechMeasures, measure
from worker.speech.quality.sound.measures import SoundMeasures, measure_sound


@dataclass(frozen=True, slots=True)
class MeasuredExample:
    """sound: None if nothing is audible. loudness_lufs: None for less than 400 ms as well."""

    text: str
    speaker: str
    speech: SpeechMeasures
    sound: SoundMeasures | None
    loudness_lufs: float | None


def measured_example(text: str, speaker: str, speech: Speech) -> MeasuredExample:
    measures = measure(speech)
    sound = measure_sound(speech, measures.loudness_db) if measures.speech_s else None
    return MeasuredExample(text, speaker, measures, sound, loudness_of(speech.pcm, speech.sample_rate_hz))
