"""Sentences in ten languages: where they end, against texts of our own that were cut by hand.

A line of a file is a sentence, a blank line ends a paragraph. They are full of what misleads: abbreviations, initials,
ordinals, decimals, quotations, dialogue, ellipses.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from worker.text.sentences import sentences

FOLDER = Path(__file__).parent / "sentences"
LANGUAGES = sorted(path.stem for path in FOLDER.glob("*.txt"))
UNSPACED = {"zh", "ja"}

LEAST = 0.97
"""Of precision and recall, in every language."""


@dataclass(frozen=True)
class Score:
    """Ends of sentences inside paragraphs; those of paragraphs are given away for nothing."""

    found: int
    right: int
    wanted: int
    misses: list[str]

    @property
    def precision(self) -> float:
        return self.right / max(1, self.found)

    @property
    def recall(self) -> float:
        return self.right / self.wanted


def paragraphs(language: str) -> list[list[str]]:
    text = (FOLDER / f"{language}.txt").read_text(encoding="utf-8")
    return [part.splitlines() for part in text.strip().split("\n\n")]


def score(language: str) -> Score:
    found = right = wanted = 0
    misses: list[str] = []
    gap = "" if language in UNSPACED else " "
    for lines in paragraphs(language):
        text = gap.join(lines)
        ends = {piece.end for piece in sentences(text, 0, len(text))} - {len(text)}
        length, gold = 0, set[int]()
        for line in lines[:-1]:
            length += len(line) + len(gap)
            gold.add(length)
        found, right, wanted = found + len(ends), right + len(ends & gold), wanted + len(gold)
        misses += [f"+ {text[max(0, end - 25) : end]}|{text[end : end + 15]}" for end in sorted(ends - gold)]
        misses += [f"- {text[max(0, end - 25) : end]}|{text[end : end + 15]}" for end in sorted(gold - ends)]
    return Score(found, right, wanted, misses)


@pytest.mark.parametrize("language", LANGUAGES)
def test_sentences_end_where_a_reader_says(language: str) -> None:
    reached = score(language)

    assert reached.precision >= LEAST, reached.misses
    assert reached.recall >= LEAST, reached.misses


@pytest.mark.parametrize("language", LANGUAGES)
def test_there_are_sixty_sentences_of_each(language: str) -> None:
    assert sum(len(lines) for lines in paragraphs(language)) >= 60
