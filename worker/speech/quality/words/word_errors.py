"""How the transcript differs from the text, in words: error rate and divergent runs. Pure."""

from __future__ import annotations

import enum
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from reading.estimates import SYLLABIC
from worker.speech.quality.words.spelling import spoken_words

WordsOf = Callable[[str], list[str]]


class Edit(enum.StrEnum):
    SAME = "same"
    SUBSTITUTED = "substituted"
    LOST = "lost"
    ADDED = "added"


@dataclass(frozen=True, slots=True)
class Step:
    """One step of an alignment. `wanted` is empty for a word that was added, `heard` for one that was lost."""

    edit: Edit
    wanted: str
    heard: str


@dataclass(frozen=True, slots=True)
class WordErrors:
    """Counts of one comparison; add them up before dividing, so that long texts weigh as much as their words."""

    words: int
    substituted: int
    lost: int
    added: int
    longest_run: int
    """Words of the longest stretch of the alignment without a single correct word."""

    @property
    def errors(self) -> int:
        return self.substituted + self.lost + self.added

    @property
    def rate(self) -> float:
        """Errors per expected word; an empty text and an empty transcript give 0."""
        return self.errors / self.words if self.words else float(self.errors > 0)

    def __add__(self, other: WordErrors) -> WordErrors:
        return WordErrors(
            self.words + other.words,
            self.substituted + other.substituted,
            self.lost + other.lost,
            self.added + other.added,
            max(self.longest_run, other.longest_run),
        )


NO_WORDS = WordErrors(0, 0, 0, 0, 0)


def word_errors(wanted: str, heard: str, words_of: WordsOf = spoken_words) -> WordErrors:
    """words_of: how a text of the language becomes words, for both sides alike."""
    return counted(align(words_of(wanted), words_of(heard)))


def counted(steps: Sequence[Step]) -> WordErrors:
    counts = {edit: sum(step.edit is edit for step in steps) for edit in Edit}
    return WordErrors(
        words=counts[Edit.SAME] + counts[Edit.SUBSTITUTED] + counts[Edit.LOST],
        substituted=counts[Edit.SUBSTITUTED],
        lost=counts[Edit.LOST],
        added=counts[Edit.ADDED],
        longest_run=_longest_run(steps),
    )


def align(wanted: Sequence[str], heard: Sequence[str]) -> list[Step]:
    """The fewest edits that turn one into the other (Levenshtein); a substitution is preferred where it costs the
    same. Time and memory grow with the product of the lengths.
    """
    costs = _costs(wanted, heard)
    steps: list[Step] = []
    row, column = len(wanted), len(heard)
    while row or column:
        cost = costs[row][column]
        if row and column and wanted[row - 1] == heard[column - 1] and cost == costs[row - 1][column - 1]:
            row, column = row - 1, column - 1
            steps.append(Step(Edit.SAME, wanted[row], heard[column]))
        elif row and column and cost == costs[row - 1][column - 1] + 1:
            row, column = row - 1, column - 1
            steps.append(Step(Edit.SUBSTITUTED, wanted[row], heard[column]))
        elif row and cost == costs[row - 1][column] + 1:
            row -= 1
            steps.append(Step(Edit.LOST, wanted[row], ""))
        else:
            column -= 1
            steps.append(Step(Edit.ADDED, "", heard[column]))
    return steps[::-1]


def _costs(wanted: Sequence[str], heard: Sequence[str]) -> list[list[int]]:
    """[i][j]: fewest edits between the first i and the first j words."""
    rows = [list(range(len(heard) + 1))]
    for number, word in enumerate(wanted, 1):
        above = rows[-1]
        row = [number]
        for place, other in enumerate(heard, 1):
            row.append(min(row[-1] + 1, above[place] + 1, above[place - 1] + (word != other)))
        rows.append(row)
    return rows


def _longest_run(steps: Sequence[Step]) -> int:
    longest = run = 0
    for step in steps:
        run = 0 if step.edit is Edit.SAME else run + 1
        longest = max(longest, run)
    return longest


_WORD = re.compile(rf"[{SYLLABIC}]|[^\W_{SYLLABIC}]+(?:['’][^\W_{SYLLABIC}]+)*")


def plain_words(text: str) -> list[str]:
    """Without case, marks and accents of composition; a character of a syllabic script is a word."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())
