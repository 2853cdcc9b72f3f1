"""Words as they are said: everyday ones in both accents, with endings, in capitals, and those of no dictionary."""

from __future__ import annotations

from pathlib import Path

import pytest

from worker.engine.kokoro.phones import Accent, phones_of

WORDS = Path(__file__).with_name("everyday_words.tsv").read_text(encoding="utf-8").splitlines()


def said(text: str, accent: Accent = Accent.AMERICAN) -> str:
    return phones_of(text, accent)


def test_a_hundred_everyday_words_in_both_accents() -> None:
    rows = [line.split("\t") for line in WORDS]
    found = [[word, said(word), said(word, Accent.BRITISH)] for word, *_ in rows]

    assert len(rows) >= 100
    assert found == rows


@pytest.mark.parametrize(
    ("word", "american", "british"),
    [
        ("Alice's", "ˈælɪsᵻz", "ˈalɪsɪz"),
        ("ferryman's", "fˈɛɹimənz", "fˈɛɹɪmənz"),
        ("boys'", "bˈYz", "bˈYz"),
        ("selfies", "sˈɛlfiz", "sˈɛlfiz"),
        ("blogged", "blˈɑɡd", "blˈɒɡd"),
        ("texted", "tˈɛkstᵻd", "tˈɛkstɪd"),
        ("emailing", "ˈimˌAlɪŋ", "ˈiːmAlɪŋ"),
        ("googling", "ɡˈuɡᵊlɪŋ", "ɡˈuːɡᵊlɪŋ"),
        ("uploaders", "ˌʌplˈOdəɹz", "ˌʌplˈQdəz"),
        ("archness", "ˈɑɹʧnəs", "ˈɑːʧnəs"),
        ("hatless", "hˈætləs", "hˈatləs"),
        ("they'll", "ðAl", "ðAl"),
        ("goin'", "ɡˈOən", "ɡˈQən"),
        ("clergymen", "klˈɜɹʤimən", "klˈɜːʤɪmən"),
        ("supermen", "sˈupəɹmˌɛn", "sˈuːpəmˌɛn"),
        ("D'you", "djʊ", "djʊ"),
    ],
)
def test_a_known_stem_takes_its_ending(word: str, american: str, british: str) -> None:
    assert (said(word), said(word, Accent.BRITISH)) == (american, british)


@pytest.mark.parametrize(
    ("word", "american", "british"),
    [
        ("Matthew", "mˈæθju", "mˈaθjuː"),
        ("Eleanor's", "ˈɛlənɔɹz", "ˈɛlənɔːz"),
        ("Emerson", "ˈɛməɹsᵊn", "ˈɛməsᵊn"),
        ("Derek", "dˈɛɹɪk", "dˈɛɹɪk"),
        ("Beethoven", "bˈATOvən", "bˈAtQvən"),
        ("Katie", "kˈATi", "kˈAti"),
        ("Nissan", "nˈisɑn", "nˈiːsɑːn"),
        ("withdrew", "wɪθdɹˈu", "wɪðdɹˈuː"),
    ],
)
def test_names_and_words_that_were_guessed_before(word: str, american: str, british: str) -> None:
    assert (said(word), said(word, Accent.BRITISH)) == (american, british)


def test_words_with_hyphens_are_said_one_by_one_unless_a_dictionary_has_them() -> None:
    assert said("rabbit-hole") == "ɹˈæbət hˈOl"
    assert said("mother-in-law") == "mˈʌðəɹənlˌɔ"


@pytest.mark.parametrize(
    ("text", "symbols"),
    [
        ("the BBC", "ðə bˌibˌisˈi"),
        ("NASA", "nˈæsə"),
        ("the US", "ðə jˌuˈɛs"),
        ("TELL US NOW", "tˈɛl ˈʌs nˈW"),
        ("It was HE", "ˌɪt wʌz hˈi"),
        ("brb", "bˌiˌɑɹbˈi"),
        ("A and B", "ˈA ænd bˈi"),
    ],
)
def test_capitals_are_spelled_or_said_with_stress(text: str, symbols: str) -> None:
    assert said(text) == symbols


@pytest.mark.parametrize(
    ("text", "symbols"),
    [
        ("the apple, the pear", "ði ˈæpᵊl, ðə pˈɛɹ"),
        ("to eat, to go to", "tʊ ˈit, tə ɡˌO tu"),
        ("a cat in it", "ɐ kˈæt ɪn ɪt"),
        ("I am", "ˌI æm"),
    ],
)
def test_small_words_go_by_the_next_sound(text: str, symbols: str) -> None:
    assert said(text) == symbols


@pytest.mark.parametrize("name", ["Edith", "Brannoc", "Pettigrew", "Priya", "Whitaker", "Skywalker", "Xqwrtaeiou"])
def test_a_word_of_no_dictionary_has_one_vowel_with_the_stress(name: str) -> None:
    for accent in Accent:
        assert said(name, accent).count("ˈ") == 1
        assert said(f"{name}'s", accent).startswith(said(name, accent))


def test_letters_that_english_lacks_are_said() -> None:
    assert said("café") == said("cafe")
    assert said("cafe\u0301") == said("cafe")
    assert said("naïve") == said("naive")
    assert said("α") == said("alpha")
    assert said("aaaaaaah") == said("ah")
