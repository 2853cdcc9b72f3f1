"""The rules for texts, over every text."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError

from rhapsode.contract.speakable_text import check_label, check_spoken_text
from rhapsode.contract.words import MAX_WORD_CHARS
from tests.linear_time.runs import steeper

ANY_TEXT = st.text(st.characters(codec=None))


def refusal_of(text: str) -> str | None:
    try:
        check_spoken_text(text)
    except PydanticCustomError as error:
        return error.type
    return None


@given(ANY_TEXT)
def test_what_passes_can_be_stored_and_holds_no_control_character(text: str) -> None:
    if refusal_of(text) is None:
        text.encode()
        assert {c for c in text if unicodedata.category(c) in {"Cc", "Cs"}} <= {"\t", "\n", "\r"}
        assert any(c.isalnum() or unicodedata.category(c)[0] in "LN" for c in text)


@given(st.text(st.characters(categories=["Ll", "Lu", "Nd", "Po", "Zs"], codec="utf-8"), min_size=1))
def test_plain_prose_with_a_letter_passes(text: str) -> None:
    assert refusal_of(f"a {text}") is None


@pytest.mark.parametrize(("num_chars", "refusal"), [(MAX_WORD_CHARS, None), (MAX_WORD_CHARS + 1, "word_too_long")])
def test_the_longest_word_has_a_thousand_characters(num_chars: int, refusal: str | None) -> None:
    assert refusal_of(f"So {'a' * num_chars} it goes.") == refusal


@pytest.mark.parametrize("text", [("a" * MAX_WORD_CHARS + " ") * 2_000, "\u0e01" * 2_000_000, "a " * 1_000_000])
def test_the_rules_take_time_in_proportion_to_the_text(text: str) -> None:
    assert refusal_of(text) is None

    assert steeper(refusal_of, text[:8], text[: len(text) // 4], text) is None


def test_a_refusal_names_the_character_and_its_place() -> None:
    with pytest.raises(PydanticCustomError, match=re.escape("character 2 is U+202E (RIGHT-TO-LEFT OVERRIDE)")):
        check_spoken_text("ab\u202ec")


def test_a_label_stays_on_one_line() -> None:
    assert check_label("Chapter 1: \u00c9t\u00e9") == "Chapter 1: \u00c9t\u00e9"
    with pytest.raises(PydanticCustomError):
        check_label("Chapter\n1")
