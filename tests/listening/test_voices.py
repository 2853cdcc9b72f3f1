"""Somebody listens: the small voice says what it should, as the speaker it should be, and the gate lets it pass."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tests.listening.conftest import SMALL_VOICE, SPEAKERS, Readings, errors_of, read_aloud
from tests.listening.teachers import read_teachers
from tests.listening.voice_profile import voice_profile
from tests.worker.speech.quality.defects import SPOILS
from worker.engine.interface import FinishReason
from worker.engine.native import NativeEngine
from worker.speech.audio.speech_edges import finish_edges
from worker.speech.quality.calibration.calibration_file import FILE_NAME, SpeechBounds, read_calibration
from worker.speech.quality.checks import basic_findings
from worker.speech.quality.recognisers.moonshine import MoonshineTiny

MAX_WER_OF_FEW = 0.17
"""Of about 190 words, a sample whose own standard deviation is about 2 %: today 10.6 % (slt) and 6.9 % (rms)."""

MAX_WER = 0.1
"""Of 3,255 words."""

MAX_SEMITONES = 1.0
MAX_SPECTRUM_DB = 2.0
"""The two teachers are 9 semitones and 6.5 dB apart."""


@pytest.fixture(scope="module")
def bounds(engine: NativeEngine) -> SpeechBounds:
    calibration = read_calibration(SMALL_VOICE / FILE_NAME)
    assert calibration.revision == engine.info.revision, "new weights: run worker.speech.quality.calibration.calibrate"
    return calibration.bounds("english")


@pytest.mark.parametrize("speaker", SPEAKERS)
def test_a_recogniser_understands_sentences_that_no_training_saw(
    speaker: str, few_readings: Readings, recogniser: MoonshineTiny
) -> None:
    errors = errors_of(few_readings[speaker], recogniser)

    assert errors.words > 150
    assert errors.rate < MAX_WER_OF_FEW


@pytest.mark.parametrize(("speaker", "other"), [SPEAKERS, SPEAKERS[::-1]])
def test_a_voice_sounds_as_its_teacher_and_not_as_the_other(speaker: str, other: str, few_readings: Readings) -> None:
    teachers = read_teachers()

    rate_hz = few_readings[speaker][0].speech.sample_rate_hz
    voice = voice_profile((finish_edges(one.speech.pcm, rate_hz), rate_hz) for one in few_readings[speaker])

    own, stranger = teachers[speaker].profile, teachers[other].profile
    assert voice.semitones_from(own) < MAX_SEMITONES < voice.semitones_from(stranger)
    assert voice.spectrum_from(own) < MAX_SPECTRUM_DB < voice.spectrum_from(stranger)


@pytest.mark.parametrize("speaker", SPEAKERS)
def test_the_basic_gate_lets_its_speech_pass(speaker: str, few_readings: Readings, bounds: SpeechBounds) -> None:
    own = bounds.of_speaker(speaker)
    caught = [one.text for one in few_readings[speaker] if basic_findings(one.speech, one.text, own)]

    # One in a hundred may be caught; of twelve, one is bad luck.
    assert len(caught) <= 1


def test_the_basic_gate_catches_what_is_done_to_its_speech(few_readings: Readings, bounds: SpeechBounds) -> None:
    rng = np.random.default_rng(5)
    readings = [(one, bounds.of_speaker(speaker)) for speaker in SPEAKERS for one in few_readings[speaker]]

    caught = {
        name: [bool(basic_findings(spoil(one.speech, rng), one.text, own)) for one, own in readings for _ in range(3)]
        for name, spoil in SPOILS.items()
    }

    assert np.mean([found for kind in caught.values() for found in kind]) >= 0.99
    assert {name: np.mean(found) for name, found in caught.items() if np.mean(found) < 0.95} == {}


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_all_two_hundred_sentences_are_understood_and_pass_the_gate(
    engine: NativeEngine, unseen_sentences: Sequence[str], recogniser: MoonshineTiny, bounds: SpeechBounds
) -> None:
    readings = read_aloud(engine, unseen_sentences)

    rates = {speaker: round(errors_of(readings[speaker], recogniser).rate, 3) for speaker in SPEAKERS}
    every = [one for speaker in SPEAKERS for one in readings[speaker]]
    caught = [
        one.text
        for speaker in SPEAKERS
        for one in readings[speaker]
        if basic_findings(one.speech, one.text, bounds.of_speaker(speaker))
    ]
    unfinished = [one.text for one in every if one.speech.finish_reason is not FinishReason.EOS]

    assert {speaker: rate for speaker, rate in rates.items() if rate > MAX_WER} == {}
    assert len(caught) <= 0.005 * len(every)
    assert unfinished == []
