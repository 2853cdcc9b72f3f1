"""The first segment is short, so that listening begins at once."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reading.estimates import speech_units
from reading.script.script import plain_script
from reading.segmenting.lengths import LengthRules
from reading.segmenting.segmentation import plan_segments, segment_script
from rhapsode.contract.jobs.input import Pauses, SegmentationMode
from rhapsode.contract.words import is_speakable
from tests.property_tests import examples

OPENING = 90
LONG = (
    "On the edge of a small town by the sea there stood a hill, and on the hill there stood a house with one tall "
    "window that nobody had ever cleaned. Every night, as soon as the sun had gone down, an old woman put a lamp in it."
)

TEXTS = st.text(alphabet=st.sampled_from("ab é.,;:!?…—\n。！？、「」 一二あ\u0301👩"), max_size=400).filter(
    is_speakable
)


def spoken(text: str) -> list[str]:
    planned = plan_segments(text, LengthRules(max_bytes=500, min_chars=16, opening_chars=OPENING), Pauses())
    assert "".join(text[each.start : each.end] for each in planned) == text
    return [each.text for each in planned]


def test_a_long_first_sentence_is_cut_at_its_last_clause_in_reach() -> None:
    first, second, *_ = spoken(LONG)

    assert first == "On the edge of a small town by the sea there stood a hill,"
    assert second.startswith("and on the hill")


def test_sentences_that_end_soon_are_the_opening() -> None:
    first, second = spoken(
        "It was cold. Nobody had come for the letter, and so it lay there. " + "The lamp burned. " * 8
    )

    assert first == "It was cold. Nobody had come for the letter, and so it lay there. The lamp burned."
    assert second.startswith("The lamp burned. The lamp burned.")


@pytest.mark.parametrize(
    "text",
    [
        "A short text of a sentence or two stays whole. It has not more to say than this, and that is all of it.",
        "a sentence without any mark goes on and on " * 5 + "until its end.",
    ],
)
def test_what_cannot_be_divided_well_stays_whole(text: str) -> None:
    assert spoken(text) == [text]


def test_alone_only_a_long_first_sentence_is_divided() -> None:
    alone = LengthRules(opening_chars=OPENING, mode=SegmentationMode.SENTENCE)

    long, short = (plan_segments(text, alone, Pauses()) for text in (LONG, f"Call me Ishmael. {LONG}"))

    assert long[0].text == "On the edge of a small town by the sea there stood a hill,"
    assert (long[0].goes_on, len(long)) == (True, 3)
    assert (short[0].text, len(short)) == ("Call me Ishmael.", 3)


def test_only_the_first_paragraph_that_is_spoken_is_opened() -> None:
    heard = spoken(f"* * *\n\n{LONG}\n\n{LONG}")

    assert heard[:2] == spoken(LONG)
    assert heard[2:] == plan_texts(LONG)


def test_a_heading_is_an_opening() -> None:
    heard = spoken(f"The Lamp on the Hill\n\n{LONG}")

    assert heard == ["The Lamp on the Hill", *plan_texts(LONG)]


def plan_texts(text: str) -> list[str]:
    return [each.text for each in plan_segments(text, LengthRules(max_bytes=500, min_chars=16), Pauses())]


@given(TEXTS, st.integers(6, 60))
@settings(max_examples=examples(200), deadline=None)
def test_any_text_is_covered_and_nothing_is_lost(text: str, opening: int) -> None:
    lengths = LengthRules(60, 120, opening_chars=opening)

    planned = segment_script(plain_script(text), lengths, Pauses()).segments

    assert "".join(text[each.start : each.end] for each in planned) == text
    assert all(is_speakable(each.text) and speech_units(each.text) <= 120 for each in planned)
    said = [char for each in planned for char in each.text if char.isalnum()]
    assert said == [char for char in text if char.isalnum()]
