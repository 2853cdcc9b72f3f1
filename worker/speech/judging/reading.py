"""What a recogniser read of a recording against what its text says: words, letters, loops and early ends. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from worker.speech.quality.listening import LEAST_RUN
from worker.speech.quality.words.spelling import spoken_words
from worker.speech.quality.words.word_errors import Edit, Step, align, counted, plain_words

ENGLISH = "english"


@dataclass(frozen=True, slots=True)
class JudgedReading:
    """is_looped: a run of added words no shorter than what a recogniser may misread. is_cut: such a run is missing at
    the end, or half of a text that is shorter than two of them.
    """

    words: int
    errors: int
    characters: int
    character_errors: int
    is_looped: bool
    is_cut: bool


def read_against(text: str, heard: str, language: str) -> JudgedReading:
    """Time grows with the product of the lengths: for texts of a page, and no books."""
    words_of = spoken_words if language.casefold() == ENGLISH else plain_words
    wanted, said = words_of(text), words_of(heard)
    steps = align(wanted, said)
    words = counted(steps)
    characters = counted(align("".join(wanted), "".join(said)))
    missing = sum(1 for _ in takewhile(lambda step: step.edit is Edit.LOST, reversed(steps)))
    return JudgedReading(
        words=words.words,
        errors=words.errors,
        characters=characters.words,
        character_errors=characters.errors,
        is_looped=_longest_added(steps) >= LEAST_RUN,
        is_cut=missing >= min(LEAST_RUN, max(1, len(wanted) // 2)),
    )


def _longest_added(steps: Sequence[Step]) -> int:
    longest = run = 0
    for step in steps:
        run = run + 1 if step.edit is Edit.ADDED else 0
        longest = max(longest, run)
    return longest
