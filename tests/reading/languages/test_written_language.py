"""A text in the wrong language is noticed, and one in the right language never is taken for another."""

from __future__ import annotations

from pathlib import Path

import pytest

from reading.drafting.languages import wrong_language
from reading.languages.function_words import FUNCTION_WORDS

HERE = Path(__file__).parents[1] / "segmenting"
ROOT = Path(__file__).parents[3]
LANGUAGES = {"de": "german", "en": "english", "es": "spanish", "fr": "french", "it": "italian", "pt": "portuguese"}


def lines(*files: Path) -> list[str]:
    return [line.strip() for file in files for line in file.read_text().splitlines() if line.strip()]


def sentences(tag: str) -> list[str]:
    return lines(HERE / "sentences" / f"{tag}.txt", HERE / "sentences_held_out" / f"{tag}.txt")


def passages(texts: list[str], number: int) -> list[str]:
    return [" ".join(texts[at : at + number]) for at in range(0, len(texts), number)]


@pytest.mark.parametrize("number", [1, 3, 10])
@pytest.mark.parametrize("tag", LANGUAGES)
def test_no_text_is_taken_for_another_language_than_its_own(tag: str, number: int) -> None:
    assert [text for text in passages(sentences(tag), number) if wrong_language(text, (LANGUAGES[tag],))] == []


def test_none_of_our_english_texts_is_taken_for_another_language() -> None:
    texts = lines(
        ROOT / "rhapsode/demo/fables.txt",
        ROOT / "tests/listening/narration.txt",
        ROOT / "tests/listening/unseen_sentences.txt",
        *ROOT.glob("*.md"),
        *ROOT.glob("*/*.md"),
    )

    assert len(texts) > 500
    assert [text for text in texts if wrong_language(text, ("english",))] == []


@pytest.mark.parametrize("tag", sorted(LANGUAGES.keys() - {"en"}))
def test_a_passage_in_another_language_is_noticed(tag: str) -> None:
    found = [wrong_language(text, ("english",)) for text in passages(sentences(tag), 6)]

    assert sum(language is not None for language in found) >= 0.85 * len(found)
    assert sum(language == LANGUAGES[tag] for language in found) >= 0.85 * len(found)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Guten Tag, wie geht es Ihnen heute?", "german"),
        ("Ik heb het boek niet gelezen, maar hij zegt dat het goed is.", "dutch"),
        ("Jag har inte sett honom sedan i går, men hon säger att han är här.", "swedish"),
        ("Nie wiem, czy to jest dobre, ale on tak mówi i ja się na to zgadzam.", "polish"),
    ],
)
def test_a_sentence_says_enough_if_it_has_its_common_words(text: str, language: str) -> None:
    assert wrong_language(text, ("English", "chinese")) == language
    assert wrong_language(text, (language,)) is None


def test_names_numbers_and_other_letters_say_nothing() -> None:
    for text in ("", "12 345", "Anna Karenina", "Как у вас дела сегодня?", "今天天气很好。", "Bonjour, Monsieur!"):
        assert wrong_language(text, ("english",)) is None


def test_beside_a_language_that_is_not_known_here_nothing_is_sure() -> None:
    assert wrong_language("Jeg har ikke set ham siden i går, men hun siger at han er her.", ("danish",)) is None


def test_every_language_that_models_write_in_latin_letters_has_its_words() -> None:
    assert set(LANGUAGES.values()) <= FUNCTION_WORDS.keys()
