"""What a plan says is spoken; encoding and decoding are tested with segmentation."""

from __future__ import annotations

import pytest

from reading.plan.plan import Plan, PlanSegment, closed, decode_plan, encode_plan


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("The Fox and the Grapes", "The Fox and the Grapes."),
        ("Part 2", "Part 2."),
        ("第一章", "第一章。"),
        ("Who goes there?", "Who goes there?"),
        ("He said: \u201cGo.\u201d", "He said: \u201cGo.\u201d"),
        ("(see below)", "(see below)"),
        ("", ""),
    ],
)
def test_what_ends_without_a_mark_is_spoken_with_one(text: str, spoken: str) -> None:
    assert closed(text) == spoken


def test_a_sentence_that_was_cut_goes_on_and_the_last_words_are_closed() -> None:
    cut = PlanSegment(0, 0, 10, "A sentence of", 0.0, goes_on=True)
    rest = PlanSegment(1, 10, 20, "two halves", 0.0)

    plan = decode_plan(encode_plan(Plan((cut, rest))))

    assert [segment.spoken_text for segment in plan.segments] == ["A sentence of", "two halves."]
