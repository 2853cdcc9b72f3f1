from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.http.problems.problem import HttpProblem
from api.openai.socket.incoming_text import IncomingText
from rhapsode.contract.words import MAX_WORD_CHARS
from tests.api.openai.socket.pieces import cut, cuts

TEXTS = st.text(st.sampled_from(list("a ß.\n—5😀字 ")), max_size=60)


def onward(pieces: list[str]) -> list[str]:
    text = IncomingText(5_000)
    return [*(text.add(piece) for piece in pieces), text.end()]


@given(TEXTS.filter(lambda text: any(each.isalnum() for each in text)), cuts())
def test_pieces_of_any_shape_are_the_same_text(text: str, places: list[int]) -> None:
    assert "".join(onward(cut(text, places))) == text


@given(TEXTS.filter(lambda text: any(each.isalnum() for each in text)), cuts())
def test_nothing_goes_on_before_there_is_something_to_speak(text: str, places: list[int]) -> None:
    first = next(each for each in onward(cut(text, places)) if each)

    assert any(each.isalnum() for each in first)


@pytest.mark.parametrize("text", ["", "  \n ", "\t"])
def test_no_text_is_none_begun(text: str) -> None:
    incoming = IncomingText(100)

    assert (incoming.add(text), incoming.end(), incoming.has_begun) == ("", "", False)


@pytest.mark.parametrize(
    ("pieces", "code"),
    [
        (["a", "\ud83d", "b"], "invalid_unicode"),
        (["a", "\ude00"], "invalid_unicode"),
        (["a\x07"], "control_character"),
        (["a", "\u202e"], "bidi_control"),
        (["x" * 600, "y" * 600], "word_too_long"),
        (["word " * 999, "word " * 2], "too_long"),
    ],
)
def test_what_cannot_be_spoken_is_refused_wherever_it_is_cut(pieces: list[str], code: str) -> None:
    with pytest.raises(HttpProblem) as raised:
        onward(pieces)

    assert [each.code for each in raised.value.violations] == [code]


def test_a_text_without_a_letter_or_digit_is_silent_until_one_comes() -> None:
    text = IncomingText(100)

    assert (text.is_silent, text.add("..."), text.add(" 🙂"), text.is_silent) == (False, "", "", True)
    assert (text.add("a"), text.is_silent) == ("... 🙂a", False)


def test_a_long_run_of_a_script_without_spaces_is_no_word() -> None:
    text = IncomingText(10_000)

    assert sum(len(text.add("字" * 700)) for _ in range(4)) == 2_800 > MAX_WORD_CHARS
