"""What holds for every text: the alphabet, the same answer twice, time in proportion to the length."""

from __future__ import annotations

import json
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st

import worker.engine.kokoro.phones as package
from worker.engine.kokoro.phones import Accent, guessed_words, phones_of

ALPHABET = json.loads(Path(package.__file__).with_name("alphabet.json").read_text(encoding="utf-8"))
TEXTS = st.text(max_size=80) | st.text(st.sampled_from("aeiou bcdstrAB'’-.,“\"(é5&\n—"), max_size=120)


@given(TEXTS, st.sampled_from(Accent))
def test_every_symbol_is_of_the_alphabet(text: str, accent: Accent) -> None:
    symbols = phones_of(text, accent)

    assert set(symbols) <= ALPHABET.keys()
    assert not symbols.startswith(" ")
    assert phones_of(text, accent) == symbols


def test_the_alphabet_is_the_models() -> None:
    assert len(ALPHABET) == 114
    assert len(set(ALPHABET.values())) == 114
    assert max(ALPHABET.values()) < 178


def test_signs_that_are_pauses_stay() -> None:
    symbols = phones_of('“No!” (yes); oh… why? so: a—b -- "end", [ok].', Accent.AMERICAN)

    assert [each for each in symbols if not each.isalpha() and each not in " ˈˌ"] == [*"“!”();…?:——“”,()."]


@pytest.mark.parametrize("text", ["", " \n", "...", "—!?", "***", "日本"])
def test_what_cannot_be_spoken_has_no_symbols(text: str) -> None:
    assert phones_of(text, Accent.BRITISH) == ""


def test_signs_that_are_words_are_said() -> None:
    assert phones_of("5 & 6%", Accent.AMERICAN) == phones_of("five and six percent", Accent.AMERICAN)


@pytest.mark.parametrize("accent", Accent)
def test_words_of_no_dictionary_are_told_once_as_the_text_has_them(accent: Accent) -> None:
    text = "Zorathiel’s boat, and Kel-Tharan’s. ‘Ithrëndil’ shouted: FLOMBIX! Zorathiel stayed."

    assert guessed_words(text, accent) == ("Zorathiel", "Kel", "Tharan", "Ithrëndil", "FLOMBIX")


@pytest.mark.parametrize(
    "text",
    [
        "The wind blew hard, and Alice's sisters wrapped their cloaks around them.",
        "goin' home, 'bout nine: boys' selfies, archness, googling",
        "NASA and the XQZW of the BBC",
        "sooooo, nooo! hmm, pssst",
        "5 & 6%, 日本, Дмитрий, x",
        "",
    ],
)
def test_known_words_their_forms_and_spelled_letters_are_no_guesses(text: str) -> None:
    assert guessed_words(text, Accent.AMERICAN) == ()


@given(TEXTS, st.sampled_from(Accent))
def test_what_is_guessed_is_a_word_of_the_text(text: str, accent: Accent) -> None:
    for word in guessed_words(text, accent):
        assert word in text
        assert not set(word) & set(":,= ")


def test_a_silent_sign_parts_words() -> None:
    assert phones_of("and/or *the* half_calm", Accent.AMERICAN) == "ænd ɔɹ ðə hˈæf kˈɑm"


def test_the_parts_of_a_joined_word_are_said_apart() -> None:
    assert phones_of("Oh, the well-known wolf", Accent.AMERICAN) == "ˈO, ðə wˈɛl nˈOn wˈʊlf"


@pytest.mark.parametrize(
    "piece", ["the wolf read on. ", "a", "ab'", "b-", "-", ".", "'", "AB ", "“", "é", "\u0301", "日"]
)
def test_the_steps_grow_with_the_length(piece: str) -> None:
    short, long = (steps(piece * (length // len(piece))) for length in (2_000, 16_000))

    assert long < 10 * short + 1_000


def test_a_word_of_a_megabyte_is_said() -> None:
    assert len(phones_of("blabber" * 150_000, Accent.AMERICAN)) > 900_000


def steps(text: str) -> int:
    """Calls of functions, Python's and C's."""
    phones_of(text[:50], Accent.AMERICAN)
    with counted() as count:
        phones_of(text, Accent.AMERICAN)
    return count[0]


@contextmanager
def counted() -> Generator[list[int]]:
    count = [0]

    def step(_frame: FrameType, _event: str, _argument: object) -> None:
        count[0] += 1

    before = sys.getprofile()
    sys.setprofile(step)
    try:
        yield count
    finally:
        sys.setprofile(before)
