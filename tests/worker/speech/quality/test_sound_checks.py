"""What a listener hears besides words is found by its name and place, and good speech by the small voice passes.

The speech is three sentences of the small voice that its training did not see (`worker/small_voice/samples`).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile

import worker
from tests.worker.speech.quality.probes import sounds
from tests.worker.speech.quality.probes.given import Damage, Given
from worker.engine.interface import FinishReason, Speech
from worker.speech.quality.calibration.calibrate import Example
from worker.speech.quality.calibration.calibration_file import FILE_NAME, SpeechBounds, read_calibration
from worker.speech.quality.checks import sound_findings
from worker.speech.quality.findings import Defect, SpeechFinding
from worker.speech.quality.measures import measure
from worker.speech.quality.sound.measures import measure_sound

VOICE = Path(worker.__path__[0]) / "small_voice"
SAMPLES = {"moon-slt": "slt", "rope-rms": "rms", "tone-rms": "rms"}
CALIBRATION = read_calibration(VOICE / FILE_NAME)


def sample(name: str) -> Example:
    pcm, rate_hz = soundfile.read(VOICE / "samples" / f"{name}.wav", dtype="float32")
    speech = Speech(np.asarray(pcm, np.float32), np.zeros((1, 12), np.int16), rate_hz, FinishReason.EOS, 0.0)
    return Example("", SAMPLES[name], speech)


def given(name: str) -> Given:
    twin = "rope-rms" if SAMPLES[name] == "slt" else "moon-slt"
    return Given(sample(name), sample(twin), sample(name))


def bounds_of(speaker: str) -> SpeechBounds:
    return CALIBRATION.bounds("english", speaker)


def findings(example: Example, bounds: SpeechBounds) -> list[SpeechFinding]:
    assert bounds.sound is not None
    sound = measure_sound(example.speech, measure(example.speech).loudness_db)
    return list(sound_findings(sound, bounds.sound, bounds.voice))


@pytest.mark.parametrize("name", SAMPLES)
def test_good_speech_passes(name: str) -> None:
    example = sample(name)

    assert findings(example, bounds_of(example.speaker)) == []
    assert findings(example, bounds_of("a voice that nobody measured")) == []


@pytest.mark.parametrize(
    ("damage", "strength", "defect"),
    [
        (sounds.click, 2, Defect.CLICK),
        (sounds.hole, 0.2, Defect.HOLE),
        (sounds.faint_hole, 0.1, Defect.HOLE),
        (sounds.noise_burst, 0, Defect.NOISE),
        (sounds.muffled, 2_000, Defect.OTHER_VOICE),
        (sounds.telephone, 3_400, Defect.OTHER_VOICE),
        (sounds.hiss, -20, Defect.BACKGROUND),
        (sounds.higher, 4, Defect.WRONG_PITCH),
        (sounds.lower, 4, Defect.WRONG_PITCH),
        (sounds.wrong_speaker, 1, Defect.OTHER_VOICE),
        (sounds.jump, 12, Defect.LEVEL_CHANGE),
    ],
)
@pytest.mark.parametrize("name", SAMPLES)
def test_damage_is_found_by_its_name(damage: Damage, strength: float, defect: Defect, name: str) -> None:
    before = given(name)
    spoiled = damage(before, strength, np.random.default_rng(3))

    assert defect in {finding.defect for finding in findings(spoiled, bounds_of(before.example.speaker))}


def test_a_click_and_a_hole_are_found_where_they_are() -> None:
    before = given("rope-rms")
    clicked, holed = before.pcm.copy(), before.pcm.copy()
    place = before.rate_hz
    clicked[place] += 2 * before.loud
    loud = int(np.abs(holed[: 2 * place]).argmax())
    holed[loud : loud + place // 10] = 0

    (click,) = findings(before.sounding(clicked), bounds_of("rms"))
    (hole,) = [one for one in findings(before.sounding(holed), bounds_of("rms")) if one.defect is Defect.HOLE]

    assert click.at_s == pytest.approx(1, abs=0.02)
    assert hole.at_s == pytest.approx(loud / before.rate_hz, abs=0.02)


def test_a_voice_that_was_not_measured_is_held_to_what_no_voice_does() -> None:
    before = given("moon-slt")
    unknown = bounds_of("a voice that nobody measured")

    assert unknown.voice is None
    assert not findings(before.sounding(before.twin.speech.pcm), unknown)
    assert [one.defect for one in findings(sounds.click(before, 4, np.random.default_rng(3)), unknown)] == [
        Defect.CLICK
    ]


@pytest.mark.parametrize("num_samples", [1, 100, 300, 1_500])
def test_a_scrap_of_sound_is_measured_too(num_samples: int) -> None:
    pcm = (0.1 * np.sin(np.arange(num_samples))).astype(np.float32)

    for rate_hz in (16_000, 24_000, 48_000):
        scrap = Example("", "slt", Speech(pcm, np.zeros((0, 12), np.int16), rate_hz, FinishReason.EOS, 0.0))
        assert isinstance(findings(scrap, bounds_of("slt")), list)
