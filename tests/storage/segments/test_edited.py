"""What an edit makes of a planned segment: of the whole, or of some of its sentences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reading.plan.plan import PlanSegment
from reading.spelling.rules import PronunciationRule
from storage.errors import SegmentNotFound
from storage.segments.edited import edited
from storage.segments.edits import SegmentEdit, decode_edit, encode_edit

SPOKEN = "The eff bee eye came. It was late. Nobody slept."
WRITTEN = "The FBI came. It was late. Nobody slept."
PLANNED = PlanSegment(
    3, 100, 141, SPOKEN, 0.4, written_otherwise=WRITTEN, breaks=((14, 22, 14), (27, 35, 27)), language="english"
)


def test_a_sentence_is_changed_and_its_neighbours_stay() -> None:
    edit = SegmentEdit(sentences=((1, "It was 9 p.m."),))

    said = edited(PLANNED, edit, lambda text: text.replace("9 p.m.", "nine pee em"))

    assert said.text == "The eff bee eye came. It was nine pee em Nobody slept."
    assert said.written == "The FBI came. It was 9 p.m. Nobody slept."
    assert [(each.spoken, each.written) for each in said.sentences] == [
        ("The eff bee eye came.", "The FBI came."),
        ("It was nine pee em", "It was 9 p.m."),
        ("Nobody slept.", "Nobody slept."),
    ]
    assert [each.start for each in said.sentences] == [each.start for each in PLANNED.sentences]


def test_the_whole_is_changed() -> None:
    said = edited(PLANNED, SegmentEdit(text="In 9 days.", speaker="BOB"), lambda text: text.replace("9", "nine"))

    assert (said.text, said.written, said.speaker) == ("In nine days.", "In 9 days.", "BOB")
    assert len(said.sentences) == 1


def test_sentences_that_are_changed_one_after_the_other_stay_changed() -> None:
    first = SegmentEdit(sentences=((2, "All slept."),))
    both = SegmentEdit(sentences=((0, "Somebody came."),)).over(first)

    assert both.sentences == ((0, "Somebody came."), (2, "All slept."))
    assert edited(PLANNED, both).written == "Somebody came. It was late. All slept."
    assert decode_edit(encode_edit(both)) == both


def test_a_text_for_the_whole_takes_the_place_of_all() -> None:
    both = SegmentEdit(text="Nothing happened.").over(SegmentEdit(sentences=((0, "Somebody came."),), seed=7))

    assert (both.text, both.sentences, both.seed) == ("Nothing happened.", None, 7)


def test_a_segment_said_otherwise_as_a_whole_is_one_sentence() -> None:
    whole = SegmentEdit(text="Nothing happened. At all.")

    assert SegmentEdit(sentences=((0, "Something happened."),)).over(whole).text == "Something happened."
    with pytest.raises(SegmentNotFound):
        SegmentEdit(sentences=((1, "Never."),)).over(whole)


@given(
    st.lists(st.sampled_from(["One.", "Two here.", "三。", "Four, five."]), min_size=1, max_size=6),
    st.dictionaries(st.integers(0, 5), st.sampled_from(["New.", "Neu und lang."])),
)
def test_every_sentence_is_found_again(texts: list[str], new: dict[int, str]) -> None:
    starts = [sum(len(text) + 1 for text in texts[:number]) for number in range(len(texts))]
    spoken = " ".join(texts)
    planned = PlanSegment(0, 0, len(spoken), spoken, 0.4, breaks=tuple(starts[1:]))
    wanted = [new.get(number, text) for number, text in enumerate(texts)]

    said = edited(planned, SegmentEdit(sentences=tuple(sorted((n, t) for n, t in new.items() if n < len(texts)))))

    assert [each.written for each in said.sentences] == [each.spoken for each in said.sentences] == wanted


RULE = PronunciationRule("Skye", "sky")


def test_a_word_is_said_otherwise_and_stays_as_it_is_written() -> None:
    planned = PlanSegment(0, 0, 28, "It rained. We saw Skye at 9.", 0.3, breaks=(11,))

    said = edited(planned, SegmentEdit(rules=(RULE,)), lambda text: text.replace("9", "nine"))

    assert said.spoken_text == "It rained. We saw sky at nine."
    assert said.written == planned.text
    assert [each.written for each in said.sentences] == ["It rained.", "We saw Skye at 9."]
    assert edited(planned, SegmentEdit(rules=(PronunciationRule("Sky", "x"),))).text == planned.text


def test_the_latest_way_to_say_a_word_counts_and_goes_with_every_text() -> None:
    other, later = PronunciationRule("Mull", "mall"), PronunciationRule("Skye", "skee")
    both = SegmentEdit(rules=(later,)).over(SegmentEdit(rules=(RULE, other)))

    assert both.rules == (later, other)
    assert decode_edit(encode_edit(both)) == both
    assert edited(PLANNED, SegmentEdit(text="Skye it is.").over(both)).spoken_text == "skee it is."
    assert edited(PLANNED, SegmentEdit(sentences=((0, "To Mull!"),)).over(both)).text.startswith("To mall!")


def test_sentences_are_left_out_and_their_neighbours_keep_their_numbers() -> None:
    some = edited(PLANNED, SegmentEdit(sentences=((0, ""), (2, ""))))
    none = edited(PLANNED, SegmentEdit(sentences=((0, ""), (1, ""), (2, ""))))

    assert (some.spoken_text, some.written) == ("It was late.", "It was late.")
    assert [each.written for each in some.sentences] == ["", "It was late.", ""]
    assert (none.spoken_text, none.written, len(none.sentences)) == ("", "", 3)
