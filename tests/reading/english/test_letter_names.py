"""Letters by their names, in what English rules have put in the place of something else and nowhere besides."""

from __future__ import annotations

import pytest

from reading.english.letters.letter_names import respell_english_by_name
from tests.reading.english.scoring import spoken_by


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("The FBI called.", "The eff bee eye called."),
        ("at 7:45 p.m.", "at seven forty-five pee em."),
        ("a PhD", "a pee aitch dee"),
        ("the CEO's car", "the see ee oh's car"),
        ("of H2SO4", "of aitch two ess oh four"),
        ("by AT&T", "by ay tee and tee"),
        ("an ID card", "an eye dee card"),
        ("the HMS Beagle", "the aitch em ess Beagle"),
    ],
)
def test_letters_that_are_read_one_by_one_have_their_names(written: str, spoken: str) -> None:
    assert spoken_by(respell_english_by_name, written) == spoken


@pytest.mark.parametrize(
    "written", ["I am. A plan. Vitamin C, plan B, J. R. R. Tolkien.", "He said: I? A!", "Henry the Eighth"]
)
def test_letters_of_the_text_itself_stay(written: str) -> None:
    assert spoken_by(respell_english_by_name, written) == written


def test_a_word_of_one_letter_stays_one_in_what_is_spoken() -> None:
    assert spoken_by(respell_english_by_name, "I SHOULD THINK SO!")[:2] == "I "
