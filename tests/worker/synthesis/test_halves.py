"""A text is cut in two at the best place near its middle, or not at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.synthesis.manners import LEAST_UNITS, halves


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("The rain had stopped. Nobody came to the door that night.", "The rain had stopped."),
        ("“Who is there at this hour?” he asked, but nobody would say it.", "“Who is there at this hour?” he asked,"),
        ("I have to tell Mr. Wilson about the accident.", "I have to tell Mr. Wilson"),
        ("When the rain had stopped, nobody came to the door that night.", "When the rain had stopped,"),
        ("She sells fresh bread and butter at the market in Camden", "She sells fresh bread"),
        ("这一天的天气非常好。我们一起去公园散步。", "这一天的天气非常好。"),
        ("Dial 555 0173 200 400 if you are late this evening", "Dial 555 0173 200 400"),
    ],
)
def test_the_cut_is_behind_a_sentence_a_clause_or_a_word(text: str, first: str) -> None:
    found = halves(text)

    assert found is not None
    assert found[0] == first
    assert f"{found[0]} {found[1]}" == text or found[0] + found[1] == text


@pytest.mark.parametrize("text", ["Yes.", "I do not know.", "Oh, well, that is it.", "1" * 400, ""])
def test_what_is_too_short_or_has_no_place_stays_whole(text: str) -> None:
    assert halves(text) is None


@given(st.text(alphabet=" .,;:!?…ab1—”好。", max_size=200))
def test_nothing_is_lost_and_no_half_is_a_crumb(text: str) -> None:
    found = halves(text)

    if found is not None:
        first, second = found
        assert (first + second).replace(" ", "") == text.replace(" ", "")
        assert min(len(first), len(second)) * 3 >= LEAST_UNITS
