"""What is usual for a checkpoint's speech, measured per language; kept as a JSON file beside the checkpoint.

`worker.speech.quality.calibration.calibrate` writes it. It says nothing about what the speech says, only how good
speech measures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from pydantic import TypeAdapter, ValidationError

from worker.engine.interface import Speech
from worker.speech.audio.loudness import loudness_of
from worker.speech.quality.calibration.sound_bounds import (
    TAIL,
    SoundBounds,
    VoiceExample,
    VoiceNorm,
    high,
    sound_bounds,
    voice_norm,
)
from worker.speech.quality.expectation import MIN_EXAMPLES, DurationModel, fit_duration
from worker.speech.quality.measures import SpeechMeasures, measure
from worker.speech.quality.sound.measures import SoundMeasures, measure_sound

FILE_NAME = "speech_calibration.json"

FORMAT = 2
"""1, without a number in it, knew lengths, pauses and levels alone."""

_PAUSE_MARGIN = 1.5
_PAUSE_SLACK_S = 0.25
_EDGE_SLACK_S = 0.15
_LEVEL_MARGIN_DB = 6.0
_END_MARGIN_DB = 6.0
_LOUDEST_END_DB = -12.0
"""Whatever was measured: an end this close to the loud parts was cut."""

_TOLD_BY_END = 0.97
"""Share of good speech that must end with a code that other examples end with, for the end to tell anything."""


class CalibrationUnreadable(ValueError):
    """The checkpoint's `speech_calibration.json` is not what this version writes."""


class CalibrationOutdated(CalibrationUnreadable):
    """It was written by another release, with other figures in it."""


@dataclass(frozen=True, slots=True)
class SpeechBounds:
    """Good speech stays within these.

    duration: of all speakers together; None: nothing is known about how long a text takes. speaker_durations: by
    speaker, where they were measured one by one. final_codes: what codebook 0 ends an utterance with; empty where good
    speech ends with too many different ones to tell. sound: None if it is not known how the checkpoint sounds. voices:
    by speaker; voice: the one that is judged, None if it was not measured.
    """

    longest_pause_s: float
    longest_edge_s: float
    quietest_db: float
    loudest_db: float
    loudest_end_db: float
    duration: DurationModel | None
    speaker_durations: Mapping[str, DurationModel] = field(default_factory=dict[str, DurationModel])
    final_codes: tuple[int, ...] = ()
    sound: SoundBounds | None = None
    voices: Mapping[str, VoiceNorm] = field(default_factory=dict[str, VoiceNorm])
    voice: VoiceNorm | None = None

    def of_speaker(self, speaker: str) -> SpeechBounds:
        """With what is known of the speaker in place of what holds for all; nothing of the others."""
        voice = self.voices.get(speaker)
        return replace(
            self,
            duration=self.speaker_durations.get(speaker, self.duration),
            quietest_db=voice.quietest_db if voice else self.quietest_db,
            loudest_db=voice.loudest_db if voice else self.loudest_db,
            speaker_durations={},
            voices={},
            voice=voice,
        )


GENERAL_BOUNDS = SpeechBounds(
    longest_pause_s=2.5, longest_edge_s=2.0, quietest_db=-50.0, loudest_db=0.0, loudest_end_db=0.0, duration=None
)
"""For a checkpoint or language without a calibration: only what no good speech does."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """revision: the weights that were measured (`EngineInfo.revision`); examples: utterances by language."""

    revision: str
    examples: Mapping[str, int]
    languages: Mapping[str, SpeechBounds]
    format: int = FORMAT

    def bounds(self, language: str, speaker: str = "") -> SpeechBounds:
        """Those of the language; of the only one there is for `auto`; else the general ones.

        speaker: whose durations count; "" for those of all together.
        """
        if language == "auto" and len(self.languages) == 1:
            return next(iter(self.languages.values())).of_speaker(speaker)
        return self.languages.get(language, GENERAL_BOUNDS).of_speaker(speaker)


UNCALIBRATED = Calibration("", {}, {})
"""Of a checkpoint that was not measured."""

_FORM = TypeAdapter(Calibration)
_FORMAT = TypeAdapter(dict[str, object])


@dataclass(frozen=True, slots=True)
class MeasuredExample:
    """An utterance that a calibration learns from.

    sound: None if nothing is audible. loudness_lufs: None for less than 400 ms as well.
    """

    text: str
    speaker: str
    speech: SpeechMeasures
    sound: SoundMeasures | None
    loudness_lufs: float | None


def measured_example(text: str, speaker: str, speech: Speech) -> MeasuredExample:
    measures = measure(speech)
    sound = measure_sound(speech, measures.loudness_db) if measures.speech_s else None
    return MeasuredExample(text, speaker, measures, sound, loudness_of(speech.pcm, speech.sample_rate_hz))


def calibrated_bounds(examples: Sequence[MeasuredExample]) -> SpeechBounds:
    """Bounds that nearly all of these utterances keep with room to spare. Raises TooFewExamples.

    A speaker with enough examples gets its own durations and norm.
    """
    texts, speakers = [one.text for one in examples], [one.speaker for one in examples]
    measures = [one.speech for one in examples]
    duration = fit_duration(texts, [one.speech_s for one in measures])
    pauses = [one.longest_pause_s for one in measures]
    edges = [max(one.leading_s, one.trailing_s) for one in measures]
    levels = [one.loudness_db for one in measures]
    ends = [one.end_db for one in measures]
    return SpeechBounds(
        longest_pause_s=round(high(pauses) * _PAUSE_MARGIN + _PAUSE_SLACK_S, 2),
        longest_edge_s=round(high(edges) * _PAUSE_MARGIN + _EDGE_SLACK_S, 2),
        quietest_db=round(float(np.quantile(levels, TAIL)) - _LEVEL_MARGIN_DB, 1),
        loudest_db=round(high(levels) + _LEVEL_MARGIN_DB, 1),
        loudest_end_db=round(min(high(ends) + _END_MARGIN_DB, _LOUDEST_END_DB), 1),
        duration=duration,
        speaker_durations=_speaker_durations(texts, measures, speakers),
        final_codes=_final_codes(measures),
        sound=sound_bounds([one.sound for one in examples if one.sound]),
        voices=_voices(examples),
    )


def _voices(examples: Sequence[MeasuredExample]) -> dict[str, VoiceNorm]:
    heard: dict[str, list[VoiceExample]] = {}
    for one in examples:
        if one.sound:
            example = VoiceExample(one.text, one.sound, one.speech.loudness_db, one.loudness_lufs)
            heard.setdefault(one.speaker, []).append(example)
    return {speaker: voice_norm(own) for speaker, own in sorted(heard.items()) if len(own) >= MIN_EXAMPLES}


def _speaker_durations(
    texts: Sequence[str], measures: Sequence[SpeechMeasures], speakers: Sequence[str]
) -> dict[str, DurationModel]:
    """Two speakers of one checkpoint differ by more than one of them varies."""
    durations: dict[str, DurationModel] = {}
    for speaker, count in sorted(Counter(speakers).items()):
        if count >= MIN_EXAMPLES:
            own = [number for number, name in enumerate(speakers) if name == speaker]
            durations[speaker] = fit_duration([texts[n] for n in own], [measures[n].speech_s for n in own])
    return durations


def _final_codes(measures: Sequence[SpeechMeasures]) -> tuple[int, ...]:
    """Those that several examples share, if hardly an example ends with another."""
    counts = Counter(one.final_code for one in measures if one.final_code is not None)
    shared = {code: count for code, count in counts.items() if count > 1}
    return tuple(sorted(shared)) if sum(shared.values()) >= _TOLD_BY_END * len(measures) else ()


def write_calibration(calibration: Calibration, path: Path) -> None:
    path.write_bytes(_FORM.dump_json(calibration, indent=1) + b"\n")


def read_calibration(path: Path) -> Calibration:
    """Raises FileNotFoundError and CalibrationUnreadable."""
    try:
        content = path.read_bytes()
        if (found := _FORMAT.validate_json(content).get("format", 1)) != FORMAT:
            raise CalibrationOutdated(f"{path} has format {found}, not {FORMAT}: run `rhapsode calibrate` again")
        return _FORM.validate_json(content)
    except ValidationError as error:
        raise CalibrationUnreadable(f"{path.name}: {error}") from error
