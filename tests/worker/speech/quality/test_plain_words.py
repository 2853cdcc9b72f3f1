"""Words of languages without rules of their own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.speech.quality.words.word_errors import plain_words, word_errors


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Straße, nicht Gasse!", ["strasse", "nicht", "gasse"]),
        ("L’été arrive.", ["l’été", "arrive"]),
        ("Он сказал: «Да».", ["он", "сказал", "да"]),
        ("今天3月。", ["今", "天", "3", "月"]),
        ("안녕 하세요", ["안", "녕", "하", "세", "요"]),
        ("…", []),
    ],
)
def test_text_becomes_words(text: str, words: list[str]) -> None:
    assert plain_words(text) == words


@given(st.text(max_size=60))
def test_a_text_differs_in_nothing_from_itself(text: str) -> None:
    assert word_errors(text, text, plain_words).errors == 0
    assert word_errors(text.upper(), text.upper(), plain_words).longest_run == 0
