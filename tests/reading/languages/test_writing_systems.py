"""Which text a model of some languages can read at all, by its letters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reading.languages.writing_systems import ForeignText, count_foreign, find_foreign, foreign_text_detail

ENGLISH = ("English",)

READABLE = {
    "plain": "Down the road came a traveller.",
    "accents": "She was naïve about the œuvre of the Đoković façade, and so was Łukasz.",
    "numbers and signs": "½ of ② costs € 3 — 10⁻³ m² (№ 7, Ⅷ)!",
    "a formula": "The angle α is π over four, and β is what is left of it.",
    "a name as it is written at home": "Fyodor Dostoevsky (Russian: Фёдор Достоевский) wrote it down for his brother.",
    "a short word of somebody": "He looked up and said one word. «Да!» She left.",
    "a short word at the end": "It had been a very long day for everybody in the house. 好。",
    "no letters": "1, 2, 3!",
}

FOREIGN = {
    "Chinese": ("今天天气很好。", 0, "Chinese characters"),
    "one word of Chinese": ("好", 0, "Chinese characters"),
    "Chinese behind English": ("Hello there. 今天天气很好，我们去公园。", 13, "Chinese characters"),
    "Japanese": ("これは本です。", 0, "Japanese letters"),
    "Korean": ("안녕하세요", 0, "Korean letters"),
    "Russian": ("A line.\nКак у вас дела сегодня?", 8, "Cyrillic letters"),
    "Arabic": ("مرحبا بالعالم", 0, "Arabic letters"),
    "Greek": ("Καλημέρα σας, κύριε", 0, "Greek letters"),
    "Hindi": ("नमस्ते दुनिया", 0, "Devanagari letters"),
}


@pytest.mark.parametrize("name", READABLE)
def test_english_with_a_foreign_word_is_readable(name: str) -> None:
    assert find_foreign([READABLE[name]], ENGLISH) is None


@pytest.mark.parametrize("name", FOREIGN)
def test_where_a_text_stops_being_readable_is_found(name: str) -> None:
    text, start, script = FOREIGN[name]

    assert find_foreign(["First of all.", text], ENGLISH) in (ForeignText(1, start, script), None)
    assert find_foreign([text], ENGLISH) == ForeignText(0, start, script)


def test_the_letters_of_all_languages_of_a_model_are_its_own() -> None:
    text = "Hello, 今天天气很好。 Как у вас дела? これは本です。 안녕하세요"

    assert find_foreign([text], ("chinese", "english", "russian", "japanese", "korean")) is None
    assert find_foreign(["Hello there, my friend."], ("chinese",)) == ForeignText(0, 0, "Latin letters")


def test_a_language_whose_letters_are_not_known_refuses_nothing() -> None:
    assert find_foreign(["今天天气很好。"], ("english", "klingon")) is None
    assert find_foreign(["今天天气很好。"], ()) is None
    assert count_foreign("今天天气很好。", ("klingon",)) == 0


def test_the_sentence_names_the_place_the_script_and_the_languages() -> None:
    assert foreign_text_detail("Cyrillic letters", 8, "small", ("english", "german")) == (
        "from character 8 on the text is in Cyrillic letters, which no language of small is written with; "
        "it speaks: english, german"
    )


@given(st.lists(st.text(st.characters(codec="utf-8"))))
def test_a_place_that_is_found_holds_a_letter_that_counts_as_foreign(parts: list[str]) -> None:
    found = find_foreign(parts, ENGLISH)

    if found is not None:
        assert count_foreign(parts[found.part][found.start], ENGLISH) == 1
    else:
        assert not any(find_foreign([part], ENGLISH) for part in parts) or sum(map(count_latin, parts)) > 0


def count_latin(text: str) -> int:
    return sum(character.isascii() or "\u00c0" <= character <= "\u024f" for character in text)
