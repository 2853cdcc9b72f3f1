"""Tags of languages as three letters, and only where they are some."""

from __future__ import annotations

import pytest

from reading.languages.names import LANGUAGE_NAMES, language_tag
from storage.audio.language_codes import three_letters


@pytest.mark.parametrize(
    ("tag", "code"),
    [
        ("en", "eng"),
        ("en-GB", "eng"),
        ("zh_Hans", "zho"),
        ("DE", "deu"),
        ("haw", "haw"),
        ("English", ""),
        ("", ""),
        ("x1", ""),
    ],
)
def test_a_tag_has_three_letters_or_none(tag: str, code: str) -> None:
    assert three_letters(tag) == code


def test_every_language_of_the_models_has_a_tag_and_a_code() -> None:
    for tag, name in LANGUAGE_NAMES.items():
        assert language_tag(name) == tag
        assert len(three_letters(tag)) == 3
    assert language_tag("auto") == ""
