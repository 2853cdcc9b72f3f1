"""A stanza is read line by line; prose is not."""

from __future__ import annotations

import pytest

from reading.segmenting.lengths import LengthRules
from reading.segmenting.segmentation import plan_segments
from rhapsode.contract.jobs.input import Pauses

STANZA = """THE TYGER

Tyger Tyger, burning bright,
In the forests of the night;
What immortal hand or eye,
Could frame thy fearful symmetry?

In what distant deeps or skies.
"""


def planned(text: str) -> list[tuple[str, float]]:
    return [(each.text, each.pause_after_s) for each in plan_segments(text, LengthRules(), Pauses())]


def test_lines_of_a_stanza_have_their_pause_and_no_title_is_glued_to_them() -> None:
    assert planned(STANZA) == [
        ("THE TYGER", 0.8),
        ("Tyger Tyger, burning bright,", 0.35),
        ("In the forests of the night;", 0.35),
        ("What immortal hand or eye,", 0.35),
        ("Could frame thy fearful symmetry?", 0.8),
        ("In what distant deeps or skies.", 0),
    ]


def test_two_lines_are_verse_where_they_are_set_in() -> None:
    assert planned("So:\n\n  “Is it you?”\r\n  “It is.”") == [("So:", 0.8), ("“Is it you?”", 0.35), ("“It is.”", 0)]


@pytest.mark.parametrize(
    "prose",
    [
        "It was the best\nof times, it was\nthe worst of times.",
        "He went to London.\nThen he came home.",
        "We met in Berlin, and from there\nParis was a day away, but\nthe road was closed.",
        "A line that is much too long to be one of verse, as anybody sees\nWho reads it.\nAnd so on.",
        "one\nTwo\nThree",
    ],
)
def test_prose_that_is_wrapped_stays_whole(prose: str) -> None:
    assert [text for text, _ in planned(prose)] == [prose]
