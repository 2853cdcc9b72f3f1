"""A segment knows its sentences in three texts: the plan's, what is spoken, what people are shown."""

from __future__ import annotations

from reading.plan.plan import Plan, PlanSegment, decode_plan, encode_plan
from reading.plan.sentences import PlanSentence, sentence_break

SOURCE = "See [Pg 16] the FBI. They know.\n\nYes."
SEGMENT = PlanSegment(
    0,
    0,
    31,
    "See the eff bee eye. They know.",
    0.8,
    written_otherwise="See the FBI. They know.",
    breaks=(sentence_break(21, 21, 13),),
)


def test_sentences_are_stretches_of_the_source_with_what_is_said_and_what_is_shown() -> None:
    (segment,) = decode_plan(encode_plan(Plan((SEGMENT,)))).segments

    assert (segment.written, segment.spoken_text) == ("See the FBI. They know.", "See the eff bee eye. They know.")
    assert segment.sentences == (
        PlanSentence(0, 21, "See the eff bee eye.", "See the FBI."),
        PlanSentence(21, 31, "They know.", "They know."),
    )
    assert SOURCE[21:31].strip() == "They know."


def test_a_break_that_is_the_same_in_all_three_takes_one_number() -> None:
    plain = PlanSegment(0, 5, 16, "Go. Go on.", 0.0, breaks=(sentence_break(4, 4, 4),))

    assert plain.breaks == (4,)
    assert [(each.start, each.end, each.spoken) for each in plain.sentences] == [(5, 9, "Go."), (9, 16, "Go on.")]
    assert b'"breaks": [4]' in encode_plan(Plan((plain,)))
