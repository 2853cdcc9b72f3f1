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
        ("naïve café", "naive cafe"),
        ("nineteen eighty-four was", "1984 was"),
        ("one thousand nine hundred and eighty-four was", "1984 was"),
        ("nineteen oh five", "1905"),
        ("the nineteen eighties", "the 1980s"),
        ("a hundred men", "100 men"),
        ("twelve hundred", "1,200"),
        ("one million two hundred thousand and five", "1,200,005"),
        ("five five five one two one two", "555-1212"),
        ("two point five million dollars", "$2.5 million"),
        ("two dollars and fifty cents", "$2.50"),
        ("eight o'clock", "8:00"),
    ],
)
def test_two_ways_of_writing_give_the_same_words(one: str, other: str) -> None:
    assert spoken_words(one) == spoken_words(other)


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        ("the eff bee eye", "The FBI"),
        ("you ess bee", "U.S.B."),
        ("you ess bee", "u s b"),
        ("the eff bee eye's men", "the FBI's men"),
        ("two see pee yous", "2 CPUs"),
        ("eight ay em.", "8 a.m."),
        ("eight ay em.", "8 AM"),
        ("in the you ess and the you kay", "in the US and the U.K."),
        ("a pee aitch dee", "a PhD"),
        ("em pee three", "MP3"),
        ("a double you see", "a WC"),
    ],
)
def test_letters_are_the_same_by_name_and_as_a_recogniser_writes_them(said: str, heard: str) -> None:
    assert spoken_words(said) == spoken_words(heard)


def test_what_sounds_as_a_letter_does_is_that_letter_and_other_capitals_are_words() -> None:
    assert spoken_words("see you") == spoken_words("C U")
    assert spoken_words("HE TOLD US") == spoken_words("he told us")
    assert spoken_words("NATO") == spoken_words("Nato")
    assert spoken_words("FBI") != spoken_words("FDA")
    assert spoken_words("1984") != spoken_words("1994")


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
