from __future__ import annotations

import pytest

from worker.speech.alignment.aligner import WordTime
from worker.speech.alignment.words import words_of
from worker.speech.alignment.written import even_time, written_times


def heard(written: str, spoken: str) -> dict[str, tuple[float, float]]:
    """Every spoken word lasts a second."""
    said = list(words_of(spoken))
    times = [even_time(word, number, number + 1.0) for number, word in enumerate(said)]
    words = list(words_of(written))
    return {
        word.text: (time.start_s, time.end_s)
        for word, time in zip(words, written_times(words, said, times), strict=True)
    }


def test_a_year_lasts_as_the_words_that_were_said_for_it() -> None:
    assert heard("In 1984, he left.", "In nineteen eighty four, he left.") == {
        "In": (0, 1),
        "1984": (1, 4),
        "he": (4, 5),
        "left": (5, 6),
    }


@pytest.mark.parametrize(
    ("written", "spoken", "times"),
    [
        ("pay £20 3rd time", "pay twenty pounds third time", {"£20": (1, 3), "3rd": (3, 4)}),
        ("In 1984 Dr. Smith", "In nineteen eighty four Doctor Smith", {"1984": (1, 4), "Dr": (4, 5)}),
        ("on Jan. 3rd, 2021!", "on January third, twenty twenty one", {"Jan": (1, 2), "3rd": (2, 3), "2021": (3, 6)}),
    ],
)
def test_neighbours_that_were_both_said_otherwise_begin_with_a_word_each(
    written: str, spoken: str, times: dict[str, tuple[float, float]]
) -> None:
    assert {word: heard(written, spoken)[word] for word in times} == times


def test_more_written_than_said_shares_the_time_by_length() -> None:
    assert heard("at 5 p. m. he", "at seventeen he") == {
        "at": (0, 1),
        "5": (1, pytest.approx(1 + 5 / 7)),
        "p": (pytest.approx(1 + 5 / 7), pytest.approx(1 + 6 / 7)),
        "m": (pytest.approx(1 + 6 / 7), 2),
        "he": (2, 3),
    }


def test_one_word_for_one_is_that_word() -> None:
    assert heard("Dr. Who met Mr. No", "Doctor Who met Mister No")["Mr"] == (3, 4)


def test_what_was_said_as_nothing_lasts_no_time() -> None:
    assert heard("wait ** here", "wait here") == {"wait": (0, 1), "**": (1, 1), "here": (1, 2)}


def test_letters_keep_their_own_times_in_a_word_that_is_said_as_it_is_written() -> None:
    time = WordTime((0.0, 0.3, 0.4, 0.9))
    words = list(words_of("Cat"))

    assert list(written_times(words, list(words_of("cat")), [time])) == [time]
