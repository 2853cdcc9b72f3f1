"""Scripts of any kind are covered exactly, with the pauses of what ends and the voice of who speaks."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reading.cleaning.cleaning import without_litter
from reading.english.front_end import respell_english
from reading.estimates import speech_units
from reading.plan.plan import Chapter, Plan, PlanSegment, decode_plan, encode_plan
from reading.script.builder import ScriptBuilder
from reading.script.dialogue import dialogue_script
from reading.script.entries import ScriptEntry, decode_entries, encode_entries, entries_script
from reading.script.script import BlockKind, Script, Voicing, plain_script
from reading.segmenting.lengths import LengthRules
from reading.segmenting.segmentation import NothingToSpeak, segment_script
from reading.spelling.respelling import Lexicon, respelt
from reading.spelling.rules import PronunciationRule
from rhapsode.contract.jobs.input import Pauses, SegmentationMode
from rhapsode.contract.words import is_speakable
from tests.property_tests import examples

PAUSES = Pauses(sentence_s=0.1, paragraph_s=0.2, heading_s=0.3, chapter_s=0.4, line_s=0.15, cut_s=0.05)

NASTY = [
    "今天天气很好。我们去公园吧！你来吗？“好。”他说。",
    "“Is it you?” she asked. “No.” He left… and then?",
    "- one\n- two\n\n1. first\n2) second",
    "Roses are red,\nViolets are blue,\n\nSugar is sweet",
    "Dr. No met Mr. T. at 3.30 p.m. on St. John's Rd., i.e. late.",
    "مرحبا بالعالم. كيف حالك؟ שלום עולם.",
    "👩‍👩‍👧 family 🇩🇪 flag e\u0301 marks 😀😀😀",
    "* * *\n\n***\n\n—\n\nText",
    "\u2028line\u2029para\r\nend\x0b.",
    "A" * 900 + " " + "字" * 500,
]
NAMES = ("Fox", "The Crow", "NARRATOR")


@st.composite
def scripts(draw: st.DrawFn) -> Script:
    builder = ScriptBuilder()
    for _ in range(draw(st.integers(1, 6))):
        if draw(st.booleans()):
            builder.begin_chapter(draw(st.sampled_from("123")), draw(st.sampled_from(["One", ""])))
        builder.begin_block(draw(st.sampled_from(BlockKind)))
        for _ in range(draw(st.integers(0, 3))):
            voicing = Voicing(draw(st.sampled_from(["", "Fox"])), draw(st.sampled_from(["", "german"])))
            text = draw(st.sampled_from([*NASTY, "word ", "...", "NASA 12"]) | st.text(max_size=30))
            if draw(st.integers(0, 4)) == 0:
                builder.say_as(
                    text, draw(st.sampled_from(["", "alias", "a longer alias. With two sentences."])), voicing
                )
            else:
                builder.say(text, voicing)
            if draw(st.integers(0, 3)) == 0:
                builder.pause(draw(st.sampled_from([0.0, 0.7])))
        builder.end_block()
    return builder.build(title="T")


LEXICON = Lexicon([PronunciationRule("NASA", "the agency"), PronunciationRule("word", "")])
LENGTHS = st.tuples(st.integers(3, 60), st.integers(3, 120), st.sampled_from(SegmentationMode)).map(
    lambda drawn: LengthRules(min(drawn[:2]), max(drawn[:2]), mode=drawn[2])
)


@given(scripts(), LENGTHS)
@settings(max_examples=examples(250), deadline=None)
def test_any_script_is_covered_exactly_or_has_nothing_to_say(script: Script, segmentation: LengthRules) -> None:
    script = respelt(script, LEXICON)
    try:
        planned = segment_script(script, segmentation, PAUSES)
    except NothingToSpeak:
        return

    segments = planned.segments
    assert [segment.start for segment in segments] == [0, *(segment.end for segment in segments[:-1])]
    assert segments[-1].end == len(script.text)
    assert all(is_speakable(segment.text) for segment in segments)
    assert all(speech_units(segment.text) <= segmentation.max_chars for segment in segments)
    assert_sentences_cover(segments)
    starts = [chapter.first_segment for chapter in planned.chapters]
    assert starts == sorted(set(starts))
    assert not starts or starts[0] == 0
    assert all(starts[s.chapter] <= s.index for s in segments if starts)
    plan = Plan(segments, planned.chapters, "T", text_key="k")
    assert decode_plan(encode_plan(plan)) == plan


def assert_sentences_cover(segments: tuple[PlanSegment, ...]) -> None:
    """All that is said and shown of a segment, in order."""
    for segment in segments:
        sentences = segment.sentences
        assert [each.start for each in sentences] == [segment.start, *(each.end for each in sentences[:-1])]
        assert sentences[-1].end == segment.end
        assert "".join("".join(each.spoken.split()) for each in sentences) == "".join(segment.text.split())
        assert "".join("".join(each.written.split()) for each in sentences) == "".join(segment.written.split())
        assert all(is_speakable(each.spoken) for each in sentences)


def test_people_are_shown_what_is_written_and_not_what_is_left_in_it() -> None:
    text = "FOX: See [Pg 16] the FBI. They paid $5 for a won-\nder. I wonder."
    script = without_litter(dialogue_script(text, NAMES), is_book=False)

    (segment,) = segment_script(respelt(script, respell_english), LengthRules(), PAUSES).segments

    assert [(each.spoken, each.written) for each in segment.sentences] == [
        ("See the F B I.", "See the FBI."),
        ("They paid five dollars for a wonder.", "They paid $5 for a wonder."),
        ("I wonder.", "I wonder."),
    ]
    assert [text[each.start : each.end].split()[0] for each in segment.sentences] == ["FOX:", "They", "I"]


def test_the_rest_of_a_sentence_that_was_cut_is_no_sentence_of_its_own() -> None:
    text = "It was a very long sentence, which had to be cut at its clauses; so it was. Short."

    first, last = segment_script(plain_script(text), LengthRules(80, 80), PAUSES).segments

    assert (len(first.sentences), first.goes_on, last.goes_on) == (1, False, False)
    first, last = segment_script(plain_script(text), LengthRules(50, 60), PAUSES).segments
    assert (len(first.sentences), first.goes_on, last.goes_on) == (1, True, False)
    assert [each.spoken for each in last.sentences] == ["which had to be cut at its clauses; so it was.", "Short."]


@pytest.mark.parametrize("text", NASTY)
def test_nasty_texts_lose_no_letter(text: str) -> None:
    segments = segment_script(dialogue_script(text, NAMES), LengthRules(40, 80), PAUSES).segments

    assert "".join(text[segment.start : segment.end] for segment in segments) == text
    said = [char for segment in segments for char in segment.text if char.isalnum()]
    assert said == [char for char in text if char.isalnum()]


@given(
    st.lists(
        st.sampled_from(["Fox: ", "the crow:", "NARRATOR :", "Owl: ", "text. ", "\n", "\n\n", "Fox", ":", "："])
    ).map("".join)
)
@settings(max_examples=examples(150), deadline=None)
def test_any_play_is_covered_and_only_the_cast_speaks(text: str) -> None:
    script = dialogue_script(text, NAMES)

    spans = [span for block in script.blocks for span in block.spans]
    assert [span.start for span in spans] == [0, *(span.end for span in spans)][: len(spans)]
    assert not spans or spans[-1].end == len(text)
    assert {span.voicing.speaker for span in spans} <= {"", *NAMES}
    assert all(text[label.start : label.end].strip().endswith((":", "：")) for label in script.replacements)


def test_pauses_follow_what_ends() -> None:
    builder = ScriptBuilder()
    builder.begin_chapter("1", "One")
    builder.begin_block(BlockKind.HEADING)
    builder.say("One")
    builder.begin_block(BlockKind.PARAGRAPH)
    builder.say("First sentence. Second, ")
    builder.say("said he. ", Voicing("Fox"))
    builder.say("Third.")
    builder.pause(2.5)
    builder.begin_chapter("2", "Two")
    builder.say("Last words.")
    script = builder.build()

    planned = segment_script(script, LengthRules(10, 40), PAUSES)

    assert [(segment.text, segment.pause_after_s) for segment in planned.segments] == [
        ("One", 0.3),
        ("First sentence.", 0.1),
        ("Second,", 0.05),
        ("said he.", 0.1),
        ("Third.", 2.5),
        ("Last words.", 0.0),
    ]
    assert planned.chapters == (Chapter("One", 0, "1"), Chapter("Two", 5, "2"))


def test_lines_and_short_paragraphs_keep_their_pauses() -> None:
    builder = ScriptBuilder()
    builder.begin_block(BlockKind.HEADING)
    builder.say("The Eagle")
    builder.begin_block(BlockKind.PARAGRAPH)
    builder.say("He clasps the crag")
    builder.end_line()
    builder.say("with crooked hands;")
    builder.end_paragraph()
    builder.say("Yes.")
    builder.end_paragraph()
    builder.say("No, he said.")
    script = builder.build()

    planned = segment_script(script, LengthRules(), PAUSES)

    assert [(segment.text, segment.pause_after_s) for segment in planned.segments] == [
        ("The Eagle", 0.3),
        ("He clasps the crag", 0.15),
        ("with crooked hands;", 0.2),
        ("Yes.", 0.2),
        ("No, he said.", 0.0),
    ]


def test_what_comes_before_the_first_chapter_belongs_to_the_book() -> None:
    builder = ScriptBuilder()
    builder.say("A dedication.")
    builder.begin_chapter("1", "One")
    builder.say("Text.")
    builder.begin_chapter("2", "Nothing here")
    builder.say("* * *")

    chapters = segment_script(builder.build(title="Book"), LengthRules(), PAUSES).chapters

    assert chapters == (Chapter("Book", 0), Chapter("One", 1, "1"))


def test_entries_survive_the_store() -> None:
    entries = (ScriptEntry("Eins\u2028.", "a", "Fox", "german", "calm", 2**53 - 1, 0.0), ScriptEntry("Two."))

    assert decode_entries(encode_entries(entries)) == entries
    assert [len(block.spans) for block in entries_script(entries).blocks] == [1, 1]
