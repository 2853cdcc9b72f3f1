"""Marks of a script have the times of the words that they stand at."""

from __future__ import annotations

from reading.plan.plan import PlanSegment
from reading.script.script import Mark
from storage.segments.timeline import TimeSpan
from worker.assembly.timed_text.timestamps import heard_marks
from worker.assembly.timed_text.word_times import TimedSegment, TimedSentence, TimedWord
from worker.speech.alignment.aligner import Method
from worker.speech.alignment.words import words_of
from worker.speech.alignment.written import even_time

SOURCE = "One two three.\n\nFour five."


def segment(planned: PlanSegment, first_s: float, *, is_gap: bool = False) -> TimedSegment:
    """Every word takes a second, and between two is one of silence."""
    (sentence,) = planned.sentences
    words = list(words_of(sentence.written))
    span = TimeSpan(first_s, first_s + 2 * len(words) - 1)
    if is_gap:
        return TimedSegment(None, (TimedSentence(sentence, span, ()),))
    timed = [TimedWord(word, even_time(word, first_s + 2 * n, first_s + 2 * n + 1)) for n, word in enumerate(words)]
    return TimedSegment(Method.ALIGNED, (TimedSentence(sentence, span, tuple(timed)),))


FIRST, SECOND = PlanSegment(0, 0, 16, SOURCE[:14], 0.5), PlanSegment(1, 16, 26, SOURCE[16:], 0.0)
MARKS = (
    Mark("before", 0),
    Mark("two", 3),
    Mark("behind two", 7, is_end=True),
    Mark("four", 14),
    Mark("five", 21),
    Mark("end", 26, is_end=True),
    Mark("past", 26),
)


def times(*timed: TimedSegment) -> list[float]:
    return [time_s for _, time_s in heard_marks(MARKS, timed, SOURCE)]


def test_a_mark_is_heard_with_its_word() -> None:
    assert times(segment(FIRST, 1.0), segment(SECOND, 10.0)) == [1, 3, 4, 10, 12, 13, 13]


def test_of_a_gap_the_beginning_is_known_alone() -> None:
    assert times(segment(FIRST, 1.0, is_gap=True), segment(SECOND, 10.0)) == [1, 10, 6, 10, 12, 13, 13]


def test_of_an_edit_the_words_that_stayed_are_known() -> None:
    edited = PlanSegment(0, 0, 16, "One or three.", 0.5)

    assert times(segment(edited, 1.0), segment(SECOND, 10.0))[:3] == [1, 5, 2]


def test_nothing_is_heard_of_nothing() -> None:
    assert times() == [0.0] * len(MARKS)
