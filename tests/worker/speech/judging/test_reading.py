"""What was read against what was written: words, letters, loops and early ends."""

from __future__ import annotations

import pytest

from worker.speech.judging.reading import read_against

TEXT = "The boats lay still in the harbour, and nobody moved until the morning came."


@pytest.mark.parametrize(
    ("heard", "is_looped", "is_cut"),
    [
        (TEXT, False, False),
        ("The boats lay still in the harbour, and nobody moved until the mourning", False, False),
        ("The boats lay still in the harbour", False, True),
        ("", False, True),
        (f"{TEXT} until the morning came until the morning came", True, False),
        (
            "The boats the boats the boats lay still in the harbour, and nobody moved until the morning came.",
            True,
            False,
        ),
    ],
)
def test_a_loop_and_an_early_end_are_told_from_misheard_words(heard: str, is_looped: bool, is_cut: bool) -> None:
    found = read_against(TEXT, heard, "english")

    assert (found.is_looped, found.is_cut) == (is_looped, is_cut)


def test_half_of_a_short_text_is_an_early_end() -> None:
    assert read_against("Come in.", "Come", "english").is_cut
    assert not read_against("Come in, please.", "Come in pleas", "english").is_cut


def test_letters_weigh_a_misspelled_word_less_than_a_lost_one() -> None:
    misheard, lost = (
        read_against("The candle lay still", heard, "english") for heard in ("The candla lay still", "The lay still")
    )

    assert misheard.character_errors <= 1 < lost.character_errors == len("candle")
    assert misheard.characters == len("Thecandlelaystill")


def test_what_is_written_without_spaces_is_counted_by_characters() -> None:
    found = read_against("船在港口里。", "船在港里", "chinese")

    assert (found.words, found.errors) == (5, 1)
    assert (found.characters, found.character_errors) == (5, 1)
