"""What is too short to be spoken alone is spoken with a neighbour, and with nothing else."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reading.estimates import speech_units
from reading.script.builder import ScriptBuilder
from reading.script.entries import ScriptEntry, entries_script
from reading.script.script import BlockKind, Script, Voicing
from reading.segmenting.lengths import LengthRules
from reading.segmenting.segmentation import plan_segments, segment_script
from rhapsode.contract.jobs.input import Pauses
from rhapsode.contract.words import is_speakable
from tests.property_tests import examples

SEGMENTATION = LengthRules(min_chars=16)
LINES = st.lists(
    st.sampled_from(
        [
            "Yes.",
            "No",
            "“Why?”",
            "好。",
            "네.",
            "* * *",
            "A sentence of thirty characters.",
            "x" * 90 + ".",
            "你好！",
            "",
        ]
    ),
    max_size=30,
)


def bounds(lengths: tuple[int, int, int], max_bytes: int | None) -> LengthRules:
    least, target, cap = sorted(lengths)
    return LengthRules(target, cap, max_bytes, least)


LENGTHS = st.builds(
    bounds, st.tuples(st.integers(0, 30), st.integers(1, 120), st.integers(3, 200)), st.none() | st.integers(4, 200)
)


def spoken(script: Script) -> list[str]:
    return [segment.text for segment in segment_script(script, SEGMENTATION, Pauses()).segments]


def said(text: str, segmentation: LengthRules = SEGMENTATION) -> list[str]:
    return [segment.text for segment in plan_segments(text, segmentation, Pauses())]


def test_a_paragraph_of_a_word_joins_the_one_before() -> None:
    assert said("She waited for an answer.\n\nNone\n\nThen the door was opened from inside.") == [
        "She waited for an answer. None",
        "Then the door was opened from inside.",
    ]


def test_the_first_paragraph_joins_the_one_behind_and_ends_with_a_mark() -> None:
    assert said("No\n\nThat is not what I meant at all.") == ["No. That is not what I meant at all."]


def test_a_short_last_sentence_joins_a_segment_that_is_full() -> None:
    long = "It was the longest sentence of the whole book, and nobody had ever read it aloud" + " to anybody" * 12 + "."

    assert said(f"{long} Yes.") == [f"{long} Yes."]


def test_unspaced_scripts_are_joined_without_a_space() -> None:
    assert said("好。\n\n我们明天一早就出发去北京吧。\n\n네.") == ["好。我们明天一早就出发去北京吧。네."]
    assert said("네.\n\n우리는 내일 아침 일찍 떠납니다.") == ["네. 우리는 내일 아침 일찍 떠납니다."]


def test_a_run_of_short_ones_grows_to_the_target_only() -> None:
    lengths = [speech_units(text) for text in said("Why not?\n\n" * 60, LengthRules(100, 400, None, 16))]

    assert max(lengths) <= 100
    assert min(lengths[:-1]) > 80


def test_what_was_joined_has_the_pause_of_its_end() -> None:
    first, last = plan_segments("Good.\n\nWe go at noon, then.\n\nThat is all there is to say.", SEGMENTATION, Pauses())

    assert (first.text, first.pause_after_s) == ("Good. We go at noon, then.", Pauses().paragraph_s)
    assert last.pause_after_s == 0


def test_headings_scenes_and_chapters_keep_apart() -> None:
    builder = ScriptBuilder()
    builder.begin_chapter("1", "One")
    builder.begin_block(BlockKind.HEADING)
    builder.say("One")
    for text in ("Yes.", "* * *", "No."):
        builder.begin_block(BlockKind.PARAGRAPH)
        builder.say(text)
    builder.begin_chapter("2", "Two")
    builder.begin_block(BlockKind.PARAGRAPH)
    builder.say("Two.")

    assert spoken(builder.build()) == ["One", "Yes.", "No.", "Two."]


def test_another_voice_and_an_asked_for_pause_keep_apart() -> None:
    builder = ScriptBuilder()
    builder.say("Yes.", Voicing("a"))
    builder.end_block()
    builder.say("No.", Voicing("b"))
    builder.pause(0.3)
    builder.end_block()
    builder.say("Why?", Voicing("b"))

    assert spoken(builder.build()) == ["Yes.", "No.", "Why?"]


def test_entries_of_a_list_are_what_the_caller_made_them() -> None:
    assert spoken(entries_script([ScriptEntry("Yes."), ScriptEntry("No.")])) == ["Yes.", "No."]


@pytest.mark.parametrize("separator", ["\n\n", " "])
@given(lines=LINES, segmentation=LENGTHS)
@settings(max_examples=examples(100), deadline=None)
def test_joining_covers_the_text_within_the_bounds(separator: str, lines: list[str], segmentation: LengthRules) -> None:
    text = separator.join(lines)
    if not is_speakable(text):
        return
    segments = plan_segments(text, segmentation, Pauses())

    assert "".join(text[segment.start : segment.end] for segment in segments) == text
    assert all(speech_units(segment.text) <= segmentation.max_chars for segment in segments)
    assert all(len(segment.text.encode()) <= (segmentation.max_bytes or math.inf) for segment in segments)
    assert "".join(filter(str.isalnum, "".join(segment.text for segment in segments))) == "".join(
        filter(str.isalnum, text)
    )
