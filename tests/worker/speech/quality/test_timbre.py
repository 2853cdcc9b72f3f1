"""A voice that no calibration knows is held to how its own utterances sounded, once there are enough of them.

The speech is of the small voice (`worker/small_voice/samples`), taken as a clone's: by other names than it has.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rhapsode.contract.jobs.quality import Gate
from tests.worker.speech.quality.probes import sounds
from tests.worker.speech.quality.probes.given import Damage
from tests.worker.speech.quality.test_sound_checks import bounds_of, given, sample
from worker.engine.interface import Speech
from worker.speech.quality.findings import Defect
from worker.speech.quality.job_norms import JobNorms
from worker.speech.quality.sound.semitones import semitones_between
from worker.speech.quality.sound.timbre import LEAST_UTTERANCES, Timbre, TimbreNorm, timbre_norm
from worker.speech.quality.verdict import JudgedUtterance, Verdict, measured_verdict

CLONE = "a clone"


def verdict(speech: Speech, norm: TimbreNorm | None, speaker: str = CLONE) -> Verdict:
    utterance = JudgedUtterance(speech, "The moon rose, and the tide followed it.", speaker, "english")
    unpaced = replace(bounds_of(speaker), duration=None)
    return measured_verdict(utterance, Gate.BASIC, unpaced, JobNorms(1.0, None, norm))


def timbre(speech: Speech) -> Timbre:
    found = verdict(speech, None).timbre
    assert found
    return found


@pytest.fixture(scope="module")
def norm() -> TimbreNorm:
    found = timbre_norm([timbre(sample(name).speech) for name in ("rope-rms", "tone-rms")] * (LEAST_UTTERANCES // 2))
    assert found
    return found


def test_nothing_is_known_of_a_voice_that_was_heard_a_few_times() -> None:
    assert timbre_norm([timbre(sample("rope-rms").speech)] * (LEAST_UTTERANCES - 1)) is None


@pytest.mark.parametrize("name", ["rope-rms", "tone-rms"])
def test_its_own_speech_passes(name: str, norm: TimbreNorm) -> None:
    found = {finding.defect for finding in verdict(sample(name).speech, norm).findings}

    assert not found & {Defect.OTHER_VOICE, Defect.WRONG_PITCH}


@pytest.mark.parametrize(
    ("damage", "strength", "defect"),
    [
        (sounds.wrong_speaker, 1, Defect.WRONG_PITCH),
        (sounds.higher, 4, Defect.WRONG_PITCH),
        (sounds.lower, 4, Defect.WRONG_PITCH),
        (sounds.muffled, 2_000, Defect.OTHER_VOICE),
        (sounds.telephone, 3_400, Defect.OTHER_VOICE),
        (sounds.thin, 500, Defect.OTHER_VOICE),
        (sounds.hiss, -20, Defect.OTHER_VOICE),
    ],
)
@pytest.mark.parametrize("name", ["rope-rms", "tone-rms"])
def test_what_is_unlike_it_is_found(
    damage: Damage, strength: float, defect: Defect, name: str, norm: TimbreNorm
) -> None:
    spoiled = damage(given(name), strength, np.random.default_rng(3)).speech

    assert defect not in {finding.defect for finding in verdict(spoiled, None).findings}
    assert defect in {finding.defect for finding in verdict(spoiled, norm).findings}


def test_a_measured_voice_is_held_to_its_calibration_alone() -> None:
    assert verdict(sample("rope-rms").speech, None, "rms").timbre is None


@pytest.mark.parametrize("speaker", [CLONE, "rms"])
def test_another_speaker_is_farther_from_the_voice(speaker: str, norm: TimbreNorm) -> None:
    own = verdict(sample("rope-rms").speech, norm, speaker).checks
    other = verdict(sounds.wrong_speaker(given("rope-rms"), 1, np.random.default_rng(3)).speech, norm, speaker).checks

    assert other["voice_db"] > own["voice_db"] + 1
    assert abs(semitones_between(other["pitch_hz"], own["pitch_hz"])) > 4


def test_a_word_alone_tells_no_timbre() -> None:
    speech = sample("rope-rms").speech
    word = replace(speech, pcm=speech.pcm[: speech.sample_rate_hz].copy())

    assert verdict(word, None).timbre is None
