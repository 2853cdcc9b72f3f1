"""How long a text is expected to sound from this checkpoint in this language. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from storage.narration.estimates import SYLLABIC, SYLLABIC_UNITS, UNITS_PER_S

MIN_EXAMPLES = 30
"""Four coefficients and a spread want this many examples at least."""

SLACK_S = 0.3
"""Error that a text of any length may have; the rest grows with the length."""

LETTERS_PER_DIGIT = 4
"""A digit is read as a word."""

_MARGIN = 1.25
"""Bounds are this much wider than what was measured: the examples have not seen everything."""
_LEAST_SHORTER, _LEAST_LONGER = 0.1, 0.15
"""Bounds are never closer: speech can linger on a word more easily than it can hurry."""

_OUTLIER = 5.0
"""Deviations beyond so many robust standard deviations are defects of the examples, not speech to learn from."""
_ROUNDS = 5

_SYLLABIC = re.compile(f"[{SYLLABIC}]")
_DIGIT = re.compile(r"\d")
_LETTER = re.compile(r"[^\W\d_]")
_MARK = re.compile(r"[^\w\s'’\-\"“”„«»()\[\]]+")
"""Quotation marks and brackets are not heard, what stands beside them is."""


_Floats = NDArray[np.float64]


class TooFewExamples(ValueError):
    """Not enough speech was measured to tell what is usual."""


@dataclass(frozen=True, slots=True)
class TextSize:
    """What of a text takes time."""

    letters: int
    """A digit counts as four, a Chinese, Japanese or Korean character as three."""
    words: int
    marks: int
    """Places where the voice pauses or falls: one or more punctuation marks."""


@dataclass(frozen=True, slots=True)
class DurationModel:
    """Seconds of speech, silence at the edges not counted, as a weighted sum; and how far off good speech is."""

    base_s: float
    letter_s: float
    word_s: float
    mark_s: float
    shorter_share: float
    longer_share: float
    """Good speech is shorter (longer) than expected by at most this share of the expectation, and `SLACK_S`."""

    def expected_s(self, text: str) -> float:
        size = text_size(text)
        weighted = self.letter_s * size.letters + self.word_s * size.words + self.mark_s * size.marks
        return max(0.0, self.base_s + weighted)

    def shortest_s(self, text: str) -> float:
        return max(0.0, self.expected_s(text) * (1 - self.shorter_share) - SLACK_S)

    def longest_s(self, text: str) -> float:
        return self.expected_s(text) * (1 + self.longer_share) + SLACK_S


def text_size(text: str) -> TextSize:
    syllabic, digits = len(_SYLLABIC.findall(text)), len(_DIGIT.findall(text))
    letters = len(_LETTER.findall(text)) + (SYLLABIC_UNITS - 1) * syllabic + LETTERS_PER_DIGIT * digits
    return TextSize(letters, len(text.split()), len(_MARK.findall(text)))


def fit_duration(texts: Sequence[str], durations_s: Sequence[float]) -> DurationModel:
    """Least squares over what is left when outliers are taken out, round by round. Raises TooFewExamples."""
    if len(texts) < MIN_EXAMPLES:
        raise TooFewExamples(f"{len(texts)} examples; a duration model wants {MIN_EXAMPLES}")
    sizes = [text_size(text) for text in texts]
    rows = np.array([(1, size.letters, size.words, size.marks) for size in sizes], np.float64)
    seconds = np.array(durations_s, np.float64)
    kept = np.ones(len(rows), bool)
    for _ in range(_ROUNDS):
        kept = _usual(rows, seconds, _least_squares(rows[kept], seconds[kept]))
    coefficients = _least_squares(rows[kept], seconds[kept])
    expected = rows[kept] @ coefficients
    shares = (seconds[kept] - expected) / np.maximum(expected, SLACK_S)
    slack = SLACK_S / np.maximum(expected, SLACK_S)
    base_s, letter_s, word_s, mark_s = (round(float(value), 5) for value in coefficients)
    return DurationModel(
        base_s,
        letter_s,
        word_s,
        mark_s,
        shorter_share=_widened(float((-shares - slack).max()), _LEAST_SHORTER),
        longer_share=_widened(float((shares - slack).max()), _LEAST_LONGER),
    )


def _least_squares(rows: _Floats, seconds: _Floats) -> _Floats:
    """Coefficients; long texts may err more, so every example weighs by its own length."""
    weighted = rows * _weights(rows)[:, None]
    # Without this, a mark that stands in every example could not be told from the base.
    calm = 1e-4 * np.abs(weighted).max() * np.eye(rows.shape[1])
    target = np.concatenate((seconds * _weights(rows), np.zeros(rows.shape[1])))
    return np.asarray(np.linalg.lstsq(np.concatenate((weighted, calm)), target, rcond=None)[0], np.float64)


def _usual(rows: _Floats, seconds: _Floats, coefficients: _Floats) -> NDArray[np.bool_]:
    """Which examples are no outliers."""
    errors = np.abs(seconds - rows @ coefficients) * _weights(rows)
    return errors <= _OUTLIER * max(1.4826 * float(np.median(errors)), 1e-9)


def _weights(rows: _Floats) -> _Floats:
    """One over the length, with as many letters added as a slack of `SLACK_S` has at an ordinary rate."""
    return 1 / (rows[:, 1] + SLACK_S * UNITS_PER_S)


def _widened(share: float, least: float) -> float:
    return round(min(0.9, max(least, share * _MARGIN)), 3)
