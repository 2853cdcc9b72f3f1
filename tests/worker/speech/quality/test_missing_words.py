"""One word that is not said is found where what is around it was read right, and weighs by what it means."""

from __future__ import annotations

import pytest

from worker.speech.quality.listening import ENOUGH, compared, word_findings

TEXT = "We did not open the old gate for seven men from Dublin that morning."


def weight(heard: str) -> float:
    return sum(each.weight for each in compared(TEXT, heard, "english").missing)


@pytest.mark.parametrize("word", ["not", "old", "gate", "seven", "Dublin"])
def test_a_word_that_means_something_is_missed(word: str) -> None:
    heard = compared(TEXT, TEXT.replace(f" {word}", ""), "english")

    (finding,) = word_findings(heard)

    assert (finding.defect, finding.measured) == ("missing_word", ENOUGH)
    assert str(finding) == f"speech recognition found no “{word.lower()}”"


def test_a_small_word_weighs_less_and_three_of_them_enough() -> None:
    assert 0 < weight(TEXT.replace(" the", "")) < ENOUGH
    assert word_findings(compared(TEXT, TEXT.replace(" the", ""), "english")) == []
    assert weight(TEXT.replace(" the", "").replace(" for", "").replace(" that", "")) > ENOUGH


@pytest.mark.parametrize(
    ("said", "heard", "is_found"),
    [
        ("from Dublin", "from Chester", True),
        ("from Dublin", "from doubling", False),
        ("old gate", "old date", False),
        ("for seven", "for eleven", True),
        ("for seven", "for 7", False),
        ("for seven", "four seven", False),
        ("for seven", "for heaven", False),
        ("did not open", "did all open", True),
        ("did not open", "did now open", False),
        ("did not open", "didn't open", False),
    ],
)
def test_another_word_counts_where_it_sounds_otherwise_or_decides(said: str, heard: str, *, is_found: bool) -> None:
    assert bool(word_findings(compared(TEXT, TEXT.replace(said, heard), "english"))) == is_found


def test_nothing_is_sure_beside_a_word_that_was_misread() -> None:
    assert weight(TEXT.replace("old gate", "odd")) == 0
    assert weight(TEXT.replace("morning", "evening")) == 0


def test_a_word_that_ends_a_text_is_missed_too() -> None:
    assert weight(TEXT.removesuffix(" morning.")) == ENOUGH


def test_other_languages_have_no_weights() -> None:
    assert compared("Das ist nicht gut.", "Das ist gut.", "german").missing == ()
