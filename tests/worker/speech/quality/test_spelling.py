"""The same words count as the same however they are written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.speech.quality.words.spelling import spoken_words


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Don't stop, it's late!", "do not stop it is late"),
        ("I can't; we’ll see.", "I cannot. We will see"),
        ("twenty-five", "25"),
        ("two hundred and five men", "205 men"),
        ("one thousand three hundred", "1,300"),
        ("nine percent", "9%"),
        ("the twenty-first", "the 21st"),
        ("the twentieth of May", "the 20th of May"),
        ("three point five", "3.5"),
        ("at half past nine", "At half past 9."),
        ("nine thirty", "9:30"),
        ("fifty dollars", "$50"),
        ("“Well,” he said — “go!”", "well he said go"),
        ("the dogs' house", "the dogs house"),
        ("a gray harbour", "a grey harbor"),
    ],
)
def test_two_ways_of_writing_give_the_same_words(one: str, other: str) -> None:
    assert spoken_words(one) == spoken_words(other)


def test_different_words_stay_different() -> None:
    assert spoken_words("its") != spoken_words("it's")
    assert spoken_words("fifteen") != spoken_words("fifty")
    assert spoken_words("salt and pepper") == ["salt", "and", "pepper"]


@given(st.text())
def test_words_are_letters_only_and_taking_them_again_changes_nothing(text: str) -> None:
    words = spoken_words(text)

    assert all(word.isascii() and word.isalpha() and word.islower() for word in words)
    assert spoken_words(" ".join(words)) == words


@given(st.integers(0, 10**13))
def test_every_number_is_spelled(number: int) -> None:
    assert spoken_words(f"{number}") == spoken_words(f"{number:,}")
    assert spoken_words(f"{number}")
