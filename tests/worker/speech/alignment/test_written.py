from __future__ import annotations

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


def test_neighbours_that_were_both_said_otherwise_share_their_time_by_length() -> None:
    assert heard("pay £20 3rd time", "pay twenty pounds third time") == {
        "pay": (0, 1),
        "£20": (1, 2.5),
        "3rd": (2.5, 4),
        "time": (4, 5),
    }


def test_one_word_for_one_is_that_word() -> None:
    assert heard("Dr. Who met Mr. No", "Doctor Who met Mister No")["Mr"] == (3, 4)


def test_what_was_said_as_nothing_lasts_no_time() -> None:
    assert heard("wait ** here", "wait here") == {"wait": (0, 1), "**": (1, 1), "here": (1, 2)}


def test_letters_keep_their_own_times_in_a_word_that_is_said_as_it_is_written() -> None:
    time = WordTime((0.0, 0.3, 0.4, 0.9))
    words = list(words_of("Cat"))

    assert list(written_times(words, list(words_of("cat")), [time])) == [time]
