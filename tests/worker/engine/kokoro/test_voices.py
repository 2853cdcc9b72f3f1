"""Voices and blends by name."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from tests.listening.teachers import SENTENCES
from worker.engine.errors import RequestRejected
from worker.engine.interface import BuiltInSpeaker, SpeechRequest
from worker.engine.kokoro.description import describe_kokoro
from worker.engine.kokoro.files import VOICES_FILE, read_model, read_symbols, read_voices
from worker.engine.kokoro.model import SAMPLES_PER_FRAME, KokoroModel, ModelCall
from worker.engine.kokoro.phones import Accent
from worker.engine.kokoro.speaking import LONG_PHONES, SHORT_PHONES, USUAL_SPEED, Utterance, usual_speed, utterance_of
from worker.engine.kokoro.voices import KokoroVoices, accent_of, pace_of
from worker.settings import PACKAGED

LONG = "The door of the little house stood open, and nobody who lived there was inside."


@pytest.fixture(scope="module")
def voices() -> KokoroVoices:
    return KokoroVoices(read_voices(PACKAGED["kokoro"]))


@pytest.fixture(scope="module")
def model() -> KokoroModel:
    return KokoroModel(read_model(), read_symbols(PACKAGED["kokoro"]))


def test_there_are_28_voices_and_the_first_is_the_default(voices: KokoroVoices) -> None:
    assert len(voices.names) == 28
    assert voices.names[0] == "af_heart"


def test_each_voice_has_a_pack_of_its_own(voices: KokoroVoices) -> None:
    packs = [voices.pack(name) for name in voices.names]

    assert {(pack.shape, pack.dtype.name) for pack in packs} == {((510, 256), "float32")}
    assert len({hashlib.sha256(pack.tobytes()).digest() for pack in packs}) == 28


def test_a_blend_is_the_weighted_mean(voices: KokoroVoices) -> None:
    bella, sky = voices.pack("af_bella"), voices.pack("af_sky")

    np.testing.assert_allclose(voices.pack("af_bella(2)+af_sky(1)"), (2 * bella + sky) / 3, atol=1e-5)
    np.testing.assert_allclose(voices.pack("af_bella+af_sky"), (bella + sky) / 2, atol=1e-5)
    np.testing.assert_allclose(voices.pack("af_bella(0.5)+af_sky(0)"), bella, atol=1e-5)


def test_neighbour_rows_are_alike(voices: KokoroVoices) -> None:
    rows = voices.pack("af_heart")[100:110]
    similarities = [one @ two / np.linalg.norm(one) / np.linalg.norm(two) for one, two in pairwise(rows)]

    assert min(similarities) > 0.99


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nobody", "unknown voice 'nobody'; there are af_heart"),
        ("af_bella+nobody", "unknown voice 'nobody'"),
        ("af_bella(2", "no voice and no blend"),
        ("af_bella(-1)+af_sky", "no voice and no blend"),
        ("af_bella+", "no voice and no blend"),
        ("af_bella(0)+af_sky(0)", "weights"),
        ("+".join(["af_bella"] * 9), "at most 8"),
    ],
)
def test_a_wrong_name_is_told(voices: KokoroVoices, name: str, said: str) -> None:
    with pytest.raises(RequestRejected) as rejection:
        voices.pack(name)

    assert said in str(rejection.value)


def test_the_first_voice_of_a_blend_decides_the_accent() -> None:
    assert accent_of("af_heart") is Accent.AMERICAN
    assert accent_of("bm_fable+af_heart") is Accent.BRITISH


def test_a_blend_has_the_mean_pace() -> None:
    assert pace_of("af_heart") == 1.0
    assert pace_of("bm_george") > 1.1
    assert pace_of("bm_george(3)+af_heart(1)") == pytest.approx((3 * pace_of("bm_george") + 1) / 4)


def test_slow_fast_and_usual_voices_take_as_long_for_prose(voices: KokoroVoices, model: KokoroModel) -> None:
    texts = SENTENCES.read_text(encoding="utf-8").splitlines()[::30]

    def num_frames(voice: str) -> int:
        said = [utterance_of(_request(text, voice), info, voices, model) for text in texts]
        plans = [
            model.plan(one.phones, one.pack[len(one.phones) - 1], one.speed, one.lead_speed, ModelCall())
            for one in said
        ]
        return sum(plan.num_frames - plan.lead for plan in plans)

    info = describe_kokoro(PACKAGED["kokoro"])
    usual = num_frames("af_heart")
    ratios = {voice: num_frames(voice) / usual for voice in ("am_eric", "am_santa", "bm_fable", "bm_george")}

    assert all(0.92 < ratio < 1.08 for ratio in ratios.values()), ratios


def _request(text: str, voice: str) -> SpeechRequest:
    return SpeechRequest("one", text, BuiltInSpeaker(voice))


def test_the_licence_and_the_notice_lie_beside_the_voices() -> None:
    folder = PACKAGED["kokoro"]

    assert (folder / VOICES_FILE).stat().st_size < 8_000_000
    assert "Apache License" in (folder / "LICENSE").read_text(encoding="utf-8")
    assert all(name in (folder / "NOTICE").read_text(encoding="utf-8") for name in ("hexgrad", "Koniwa", "SIWIS"))


def test_a_short_line_has_the_models_own_speed_and_a_long_one_the_usual() -> None:
    speeds = [usual_speed(number, pace=1.1) for number in range(1, 200)]

    assert set(speeds[:SHORT_PHONES]) == {1.0}
    assert set(speeds[LONG_PHONES - 1 :]) == {USUAL_SPEED * 1.1}
    assert all(later <= sooner for sooner, later in pairwise(speeds))


def test_no_voice_speaks_faster_than_the_model_by_itself(voices: KokoroVoices) -> None:
    assert max(usual_speed(LONG_PHONES, pace_of(name)) for name in voices.names) < 1.01


@pytest.mark.parametrize("opening", ["Help!", "Never! Nobody came.", "Look!"])
def test_no_sound_is_before_a_short_first_sentence(voices: KokoroVoices, model: KokoroModel, opening: str) -> None:
    info = describe_kokoro(PACKAGED["kokoro"])
    said = utterance_of(_request(f"{opening} {LONG}", "af_heart"), info, voices, model)

    assert (said.speed, said.lead_speed) == (USUAL_SPEED, 1.0)
    assert _frames_before(model, said) <= 4
    assert _frames_before(model, replace(said, lead_speed=0.8)) > 4


def _frames_before(model: KokoroModel, said: Utterance) -> int:
    """Audible frames before the first phone."""
    call = ModelCall()
    plan = model.plan(said.phones, said.pack[len(said.phones) - 1], said.speed, said.lead_speed, call)
    audible = np.abs(model.sound(plan, 0, plan.lead + 20, call)).reshape(-1, SAMPLES_PER_FRAME).max(axis=1) > 0.01
    return plan.lead - int(np.argmax(audible))


def test_the_silence_before_a_long_first_sentence_has_the_usual_speed(voices: KokoroVoices, model: KokoroModel) -> None:
    info = describe_kokoro(PACKAGED["kokoro"])

    assert utterance_of(_request(LONG, "af_heart"), info, voices, model).lead_speed == USUAL_SPEED
