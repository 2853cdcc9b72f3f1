from __future__ import annotations

import pytest

from worker.speech.alignment.words import words_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("“Well,” he said—and went.", ["Well", "he", "said", "and", "went"]),
        ("5% of $3.50, don't!", ["5%", "of", "$3.50", "don't"]),
        ("C++ … — ?!", ["C++"]),
        ("春が来た。 yes", ["春", "が", "来", "た", "yes"]),
        ("well-known\n\nU.S.", ["well-known", "U.S"]),
        ("", []),
    ],
)
def test_words_stand_without_the_marks_around_them(text: str, words: list[str]) -> None:
    found = list(words_of(text))

    assert [word.text for word in found] == words
    assert [text[word.start : word.end] for word in found] == words
