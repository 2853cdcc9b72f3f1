"""A model's own voices by name, and blends of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from api.voices.matching import speaker_of
from storage.narration.aliases import OPENAI_VOICES, Aliases
from tests.api.voices.voices import BASE

KOKORO = replace(BASE, speakers=("af_heart", *OPENAI_VOICES.values()), blends_speakers=True)


@pytest.mark.parametrize(
    ("name", "spelt"),
    [
        ("AF_Heart", "af_heart"),
        ("af_heart+bm_fable", "af_heart+bm_fable"),
        ("AF_SKY(2)+af_nova(1)", "af_sky(2)+af_nova(1)"),
        ("af_sky(0.25) + af_nova", "af_sky(0.25)+af_nova"),
        ("af_sky+nobody", None),
        ("af_sky(2+af_nova", None),
        ("af_sky(-2)+af_nova", None),
        ("+".join(["af_sky"] * 9), None),
        ("nobody", None),
    ],
)
def test_a_blend_is_of_voices_that_the_model_has(name: str, spelt: str | None) -> None:
    assert speaker_of(name, KOKORO) == spelt


def test_other_models_blend_nothing() -> None:
    assert speaker_of("af_heart+bm_fable", replace(KOKORO, blends_speakers=False)) is None


@pytest.mark.parametrize(("name", "voice"), [("alloy", "af_alloy"), ("Onyx", "am_onyx"), ("fable", "bm_fable")])
def test_openais_names_mean_the_voice_that_is_most_like_them(name: str, voice: str) -> None:
    assert Aliases().voice(name, KOKORO.speakers) == voice


def test_with_another_model_they_mean_its_voices_in_turn() -> None:
    assert [Aliases().voice(name, ("slt", "rms")) for name in ("alloy", "ash", "ballad")] == ["slt", "rms", "slt"]
