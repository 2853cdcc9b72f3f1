"""Word errors: what the counts mean, and that they keep to arithmetic whatever the words are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.worker.speech.quality.sentence_faults import occurrences, sentence_faults
from worker.speech.quality.words.word_errors import Edit, WordErrors, align, word_errors

WORDS = st.lists(st.sampled_from(["ada", "bob", "cut", "dot", "end"]), max_size=12)

STORY = (
    "The lamp stood in the window.",
    "Come in.",
    "Nobody in the town could say why.",
    "The children made up stories about the old woman.",
    "Come in.",
    "One winter a quiet boy climbed the hill.",
)


def test_each_kind_of_error_is_counted() -> None:
    errors = word_errors("a b c d e f", "a x c e f g")

    assert errors == WordErrors(words=6, substituted=1, lost=1, added=1, longest_run=1)
    assert errors.rate == pytest.approx(3 / 6)


def test_spelling_and_marks_are_no_errors() -> None:
    assert word_errors("Don't wait: it's nine.", "do not wait, it is 9").errors == 0


def test_nothing_heard_loses_every_word() -> None:
    assert word_errors("one two three", "") == WordErrors(words=3, substituted=0, lost=3, added=0, longest_run=3)


def test_the_longest_run_is_the_longest_stretch_without_a_right_word() -> None:
    errors = word_errors("a b c d e f g h", "a x c y z q g h")

    assert errors.longest_run == 3


def test_words_in_each_others_place_are_one_run() -> None:
    """Of two ways that cost the same, the one with substitutions: `b` in its old place would end the run."""
    assert word_errors("a b", "b c") == WordErrors(words=2, substituted=2, lost=0, added=0, longest_run=2)


def test_a_good_reading_has_no_lost_and_no_repeated_sentence() -> None:
    faults = sentence_faults(STORY, " ".join(STORY).replace("quiet", "quite").replace("stories", "storeys"))

    assert faults.lost == faults.repeated == ()


def test_a_sentence_left_out_is_named() -> None:
    faults = sentence_faults(STORY, " ".join((*STORY[:3], *STORY[4:])))

    assert faults.lost == (STORY[3],)
    assert faults.repeated == ()


def test_a_sentence_said_twice_is_named_even_if_misheard() -> None:
    twice = (*STORY[:3], STORY[3], "The children made of stories about the old woman", *STORY[4:])

    faults = sentence_faults(STORY, " ".join(twice))

    assert faults.repeated == (STORY[3],)
    assert faults.lost == ()


def test_a_text_may_repeat_itself() -> None:
    text = (*STORY, STORY[0])

    assert sentence_faults(text, " ".join(text)).repeated == ()


def test_garbled_is_not_lost() -> None:
    faults = sentence_faults(STORY[:1], "The lump stewed in a widow.")

    assert faults.lost == ()


@given(WORDS)
def test_the_same_words_are_without_error(words: list[str]) -> None:
    assert word_errors(" ".join(words), " ".join(words)).errors == 0


@given(WORDS, WORDS)
def test_an_alignment_holds_both_sides_in_order(wanted: list[str], heard: list[str]) -> None:
    steps = align(wanted, heard)

    assert [step.wanted for step in steps if step.edit is not Edit.ADDED] == wanted
    assert [step.heard for step in steps if step.edit is not Edit.LOST] == heard
    assert all((step.wanted == step.heard) == (step.edit is Edit.SAME) for step in steps)


@given(WORDS, WORDS)
def test_errors_are_a_distance(wanted: list[str], heard: list[str]) -> None:
    forth, back = word_errors(" ".join(wanted), " ".join(heard)), word_errors(" ".join(heard), " ".join(wanted))

    assert forth.errors == back.errors
    assert abs(len(wanted) - len(heard)) <= forth.errors <= max(len(wanted), len(heard))
    assert forth.longest_run <= forth.errors
    assert forth.words == len(wanted)


@given(WORDS, WORDS, WORDS)
def test_the_way_around_is_no_shorter(one: list[str], two: list[str], three: list[str]) -> None:
    def errors(wanted: list[str], heard: list[str]) -> int:
        return word_errors(" ".join(wanted), " ".join(heard)).errors

    assert errors(one, three) <= errors(one, two) + errors(two, three)


@given(st.lists(st.sampled_from(["ada", "bob", "cut", "dot", "end"]), min_size=1, max_size=8), st.integers(0, 5))
def test_a_phrase_said_so_often_is_found_so_often(phrase: list[str], times: int) -> None:
    spaced = [word for _ in range(times) for word in (*phrase, *["other"] * len(phrase))]

    assert occurrences(phrase, spaced) == times


@given(WORDS, WORDS)
def test_sums_of_counts_are_counts_of_sums(one: list[str], other: list[str]) -> None:
    a, b = word_errors(" ".join(one), ""), word_errors(" ".join(other), "")

    assert (a + b).words == (a + b).errors == len(one) + len(other)
