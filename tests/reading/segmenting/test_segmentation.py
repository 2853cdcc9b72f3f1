"""Segments cover the text exactly, stay within the cap and end where a reader would breathe."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reading.estimates import speech_units
from reading.plan.plan import PlanSegment
from reading.segmenting.lengths import LengthRules
from reading.segmenting.segmentation import NothingToSpeak, plan_segments
from rhapsode.contract.jobs.input import Pauses, SegmentationMode
from rhapsode.contract.words import is_speakable
from tests.linear_time.runs import steeper
from tests.property_tests import examples

SENTENCE_S, PARAGRAPH_S, CUT_S = 0.25, 0.6, 0.12

TEXTS = st.text(
    alphabet=st.one_of(
        st.sampled_from(
            "aZé .,;:!?…—-\"'()\n\t\r。！？、「」『』 一二三あいウ한국\u0301\u200d🏽👩🇩🇪\u2029*#\u0e01\u0e33"
        ),
        st.characters(exclude_categories=["Cs"]),
    ),
    max_size=600,
)


def lengths(pair: tuple[int, int], max_bytes: int | None) -> LengthRules:
    return LengthRules(target_chars=min(pair), max_chars=max(pair), max_bytes=max_bytes)


LENGTHS = st.builds(
    lengths,
    st.tuples(st.integers(1, 60), st.integers(3, 120)),
    st.none() | st.integers(4, 100),
)


def spoken(text: str, target: int = 220, cap: int = 400) -> list[str]:
    return [segment.text for segment in plan(text, target, cap)]


def plan(text: str, target: int = 220, cap: int = 400) -> tuple[PlanSegment, ...]:
    return plan_segments(text, LengthRules(target, cap), Pauses(sentence_s=SENTENCE_S, paragraph_s=PARAGRAPH_S))


@given(TEXTS.filter(is_speakable), LENGTHS)
@settings(max_examples=examples(300), deadline=None)
def test_any_text_is_covered_exactly_within_the_cap(text: str, segmentation: LengthRules) -> None:
    segments = plan_segments(text, segmentation, Pauses())

    assert "".join(text[segment.start : segment.end] for segment in segments) == text
    assert [segment.index for segment in segments] == list(range(len(segments)))
    assert all(segment.text in text[segment.start : segment.end] for segment in segments)
    assert all(segment.text == segment.text.strip() for segment in segments)
    assert all(is_speakable(segment.text) for segment in segments)
    assert all(speech_units(segment.text) <= segmentation.max_chars for segment in segments)
    assert all(len(segment.text.encode()) <= (segmentation.max_bytes or math.inf) for segment in segments)
    assert segments[-1].pause_after_s == 0
    assert segments == plan_segments(text, segmentation, Pauses())


@given(TEXTS.filter(is_speakable), LENGTHS)
@settings(max_examples=examples(200), deadline=None)
def test_every_letter_and_digit_is_spoken(text: str, segmentation: LengthRules) -> None:
    segments = plan_segments(text, segmentation, Pauses())

    said = [char for segment in segments for char in segment.text if char.isalnum()]
    assert said == [char for char in text if char.isalnum()]


@pytest.mark.parametrize(
    "text", ["สวัสดีครับยินดีต้อนรับ" * 40, "सभी मनुष्यों को गौरव और अधिकार " * 30, "Wow! " + "😀" * 300 + "ok"]
)
def test_a_script_of_many_bytes_is_cut_to_what_the_model_takes(text: str) -> None:
    segments = plan_segments(text, LengthRules(max_bytes=393), Pauses())

    lengths = [len(segment.text.encode()) for segment in segments]
    assert max(lengths) <= 393
    assert min(lengths[:-1]) > 100
    assert "".join(text[segment.start : segment.end] for segment in segments) == text


def test_sentences_are_packed_towards_the_target() -> None:
    segments = spoken("One two three. Four five six. Seven eight nine. Ten eleven twelve.", target=30, cap=60)

    assert segments == ["One two three. Four five six.", "Seven eight nine. Ten eleven twelve."]


def test_each_sentence_is_a_segment_where_the_model_speaks_them_alone() -> None:
    text = "No. One two three four. “Five six,” said he. Seven."

    segments = plan_segments(text, LengthRules(mode=SegmentationMode.SENTENCE), Pauses(sentence_s=SENTENCE_S))

    assert [(segment.text, segment.pause_after_s) for segment in segments] == [
        ("No.", SENTENCE_S),
        ("One two three four.", SENTENCE_S),
        ("“Five six,” said he.", SENTENCE_S),
        ("Seven.", 0),
    ]
    assert all(len(segment.sentences) == 1 for segment in segments)


def test_a_segment_never_crosses_a_blank_line() -> None:
    segments = plan("First.\n\nSecond. Still second.\r\n \r\nThird.")

    assert [segment.text for segment in segments] == ["First.", "Second. Still second.", "Third."]
    assert [segment.pause_after_s for segment in segments] == [PARAGRAPH_S, PARAGRAPH_S, 0]


def test_a_target_as_large_as_the_cap_keeps_paragraphs_whole() -> None:
    text = "One is here. Two is here too. Three follows.\n\nA fourth begins. A fifth does not fit in with it any more."

    assert spoken(text, target=55, cap=55) == [
        "One is here. Two is here too. Three follows.",
        "A fourth begins.",
        "A fifth does not fit in with it any more.",
    ]


def test_pauses_follow_what_ends_and_a_forced_cut_gets_a_breath() -> None:
    segments = plan("Short one. A much longer one, which must be cut, because it is long. End.", target=10, cap=40)

    assert [(segment.text, segment.pause_after_s) for segment in segments] == [
        ("Short one.", SENTENCE_S),
        ("A much longer one, which must be cut,", CUT_S),
        ("because it is long.", SENTENCE_S),
        ("End.", 0),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Dr. Smith went to Washington.",
        '"Is it you?" she asked.',
        "Wait... what did he say?",
        "“Oh!” — and he was gone.",
        "「はい。」と彼は言った。",
        "It cost 3.50 and no more.",
    ],
)
def test_these_are_one_sentence(text: str) -> None:
    assert spoken(text, target=1) == [text]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("今天天气很好。我们去公园吧！你来吗？", ["今天天气很好。", "我们去公园吧！", "你来吗？"]),
        ("“好。”他说。“走吧！”", ["“好。”", "他说。", "“走吧！”"]),
        ("今日は晴れです。「明日は？」彼女は聞いた。", ["今日は晴れです。", "「明日は？」", "彼女は聞いた。"]),
        ("안녕하세요. 반갑습니다!", ["안녕하세요.", "반갑습니다!"]),
        ("Здравствуйте. Как дела?", ["Здравствуйте.", "Как дела?"]),
        ("It rained. Nobody came! Why?", ["It rained.", "Nobody came!", "Why?"]),
    ],
)
def test_sentences_end_where_they_end(text: str, sentences: list[str]) -> None:
    assert spoken(text, target=1) == sentences


def test_symbols_belong_to_a_neighbour_and_are_not_spoken() -> None:
    text = "***\n\nBefore.\n\n* * *\n\nAfter.\n\n----"

    segments = plan(text)

    assert [segment.text for segment in segments] == ["Before.", "After."]
    assert "".join(text[segment.start : segment.end] for segment in segments) == text


def test_syllabic_characters_count_three() -> None:
    segments = spoken("字" * 100, target=90, cap=90)

    assert [len(segment) for segment in segments] == [25, 25, 25, 25]


def test_a_giant_word_is_cut_into_even_pieces() -> None:
    segments = spoken("x" * 20_000, cap=400)

    assert {len(segment) for segment in segments} == {400}


def test_clusters_survive_forced_cuts() -> None:
    family, flag, accented = "👩‍👩‍👧", "🇩🇪", "e\u0301"
    text = "a" + (family + flag + accented) * 30

    segments = plan(text, target=10, cap=20)

    starts = {segment.start for segment in segments[1:]}
    clusters = (len(family), len(flag), len(accented))
    period = sum(clusters)
    allowed = {0, clusters[0], clusters[0] + clusters[1]}
    assert {(start - 1) % period for start in starts} <= allowed


def test_a_pile_of_combining_marks_is_cut_all_the_same() -> None:
    segments = plan("a" + "\u0301" * 5_000 + " end", cap=400)

    assert sum(segment.end - segment.start for segment in segments) == 5_005
    assert all(len(segment.text) <= 400 for segment in segments)


def test_nothing_but_symbols_cannot_be_planned() -> None:
    with pytest.raises(NothingToSpeak):
        plan(" ***\n\n… 。")


@pytest.mark.parametrize(
    "text",
    [
        "The quick brown fox jumps over the lazy dog, or so they say. " * 20_000,
        "天地玄黄，宇宙洪荒。" * 75_000,
        "word " * 100_000,
        "x" * 500_000,
        "a line\n\n" * 50_000,
    ],
    ids=["prose", "chinese", "no-sentences", "one-word", "many-paragraphs"],
)
def test_megabytes_are_planned_in_time_that_grows_with_their_length(text: str) -> None:
    assert plan(text)[-1].end == len(text)

    assert steeper(plan, text[:8], text[: len(text) // 16], text[: len(text) // 4]) is None
