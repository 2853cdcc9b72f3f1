"""How a text begins: one line, never long, whatever it is."""

from __future__ import annotations

import pytest

from storage.narration.first_words import MOST_CHARS, first_words

LONG = "The wind and the sun were disputing which was the stronger of the two, " * 3


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        ("", ""),
        ("Hello.", "Hello."),
        ("  # Dawn\n\nIt is\tdawn. ", "# Dawn It is dawn."),
        (LONG, "The wind and the sun were disputing which was the stronger of the two, The wind…"),
        ("a" * 500, "a" * MOST_CHARS + "…"),
        (" " * 100_000 + "late", ""),
        ("Soon" + " " * 100_000 + "late", "Soon…"),
    ],
)
def test_it_is_one_line_of_whole_words(text: str, begins: str) -> None:
    assert first_words(text) == begins
