"""Expected audio is of the right size in every script."""

from __future__ import annotations

import pytest

from reading.estimates import expected_audio_ms, speech_units
from rhapsode.contract.words import is_speakable


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("The quick brown fox jumps over the lazy dog.", (2.5, 4)),
        ("今天天气很好，我们一起去公园散步吧。", (3, 5)),
        ("안녕하세요 반갑습니다", (1.5, 3)),
        ("x", (0.001, 0.2)),
    ],
)
def test_estimates_are_near_a_narrators_pace(text: str, seconds: tuple[float, float]) -> None:
    assert seconds[0] <= expected_audio_ms(text) / 1000 <= seconds[1]


def test_layout_takes_no_time() -> None:
    assert expected_audio_ms("one   two\n\n\n   three  ") == expected_audio_ms("one two three")


def test_an_estimate_is_never_zero() -> None:
    assert expected_audio_ms("") == 1


def test_syllabic_characters_count_three() -> None:
    assert [speech_units(text) for text in ("a", "é", "字", "あ", "한", "。")] == [1, 1, 3, 3, 3, 1]


@pytest.mark.parametrize("text", ["a", "…1", "字", "я", "٣", "—é—"])
def test_letters_and_digits_of_any_script_can_be_spoken(text: str) -> None:
    assert is_speakable(text)


@pytest.mark.parametrize("text", ["", " \n", "***", "…。！", "_", "🙂", "\u200b"])
def test_symbols_alone_cannot(text: str) -> None:
    assert not is_speakable(text)
