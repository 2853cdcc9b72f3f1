"""Single words that were surely not said: the recogniser reads what stands on both sides of them, and not them. Pure.

A small recogniser hardly ever leaves out a word between two that it reads right, and often reads such a word otherwise
("stops" for "tops"). So what is left out counts by what it means, and what is read otherwise only where it sounds
otherwise, or is another number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from reading.languages.function_words import FUNCTION_WORDS
from worker.speech.quality.words.number_digits import DIGIT_WORDS
from worker.speech.quality.words.word_errors import Edit, Step

ENOUGH = 1.0
"""The weight from which an utterance says something else than its text: a word that means something, or a "not"."""

_SMALL = 0.4
"""Of an article or a preposition: one is easily swallowed, three are not."""

_NEGATIONS = frozenset({"not", "no", "never", "none", "nothing", "nobody", "without", "neither", "nor"})
"""Without them, or with others, a sentence says the opposite. Names are words like any other here."""

_SMALL_WORDS = FUNCTION_WORDS["english"] - _NEGATIONS
_MOST_ALIKE = 0.34
"""Share of letters in order: "weighs" and "was" have 0.44."""
_LEAST_LETTERS = 5
"""Of a word in whose place another counts: a recogniser reads "put" as "poop" and "row" as "real"."""


@dataclass(frozen=True, slots=True)
class MissingWord:
    """wanted: a word, or the digits of a number. heard: in its place, "" if nothing was."""

    wanted: str
    heard: str
    weight: float

    def __str__(self) -> str:
        return f"“{self.heard}” for “{self.wanted}”" if self.heard else f"no “{self.wanted}”"


def missing_words(steps: Sequence[Step]) -> list[MissingWord]:
    """steps: of the alignment of an English text with what a recogniser read."""
    found = [_missing(steps, start, end) for start, end in _differences(steps)]
    return [each for each in found if each.weight]


def _differences(steps: Sequence[Step]) -> Iterator[tuple[int, int]]:
    """Where stretches without a right word begin and end."""
    start: int | None = None
    for place, step in enumerate(steps):
        if step.edit is not Edit.SAME:
            start = place if start is None else start
        elif start is not None:
            yield start, place
            start = None
    if start is not None:
        yield start, len(steps)


def _missing(steps: Sequence[Step], start: int, end: int) -> MissingWord:
    wanted = [step.wanted for step in steps[start:end] if step.wanted]
    heard = [step.heard for step in steps[start:end] if step.heard]
    is_inside = start > 0 and end < len(steps)
    is_alone = not (start or end < len(steps))
    said, instead = " ".join(wanted), " ".join(heard)
    if is_alone or not wanted or (heard and not is_inside):
        return MissingWord(said, instead, 0.0)
    if all(word in DIGIT_WORDS for word in wanted):
        # What is read for a number and is none is the recogniser's own: "anti" for "eighty".
        is_number = all(word in DIGIT_WORDS for word in heard)
        return MissingWord(said, instead, ENOUGH if is_number else 0.0)
    return MissingWord(said, instead, _word_weight(said, instead) if len(wanted) == 1 and len(heard) < 2 else 0.0)


def _word_weight(wanted: str, heard: str) -> float:
    if not heard:
        # A letter alone stands for a small word that sounds as it does: "you", "are".
        return _SMALL if wanted in _SMALL_WORDS or len(wanted) == 1 else ENOUGH
    is_short = len(wanted) < _LEAST_LETTERS and wanted not in _NEGATIONS
    return 0.0 if is_short or _is_alike(wanted, heard) else ENOUGH


def _is_alike(wanted: str, heard: str) -> bool:
    return SequenceMatcher(None, wanted, heard, autojunk=False).ratio() > _MOST_ALIKE
