"""How long a text is expected to sound from this checkpoint in this language. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from reading.estimates import SYLLABIC, SYLLABIC_UNITS, UNITS_PER_S

MIN_EXAMPLES = 30
"""Four coefficients and a spread want this many examples at least."""

SLACK_S = 0.3
"""Error that a text of any length may have; the rest grows with the length."""

USUAL_SLACK_S = 0.1
"""By which good speech of a word or two is often shorter: it takes half a second, and the share of that is nothing."""

LETTERS_PER_DIGIT = 4
"""A digit is read as a word."""

SHORT_S = 3.0
"""Below it a share says little: a word alone lingers by as many seconds as the end of a sentence does."""

_FOLDS = 10
"""Margins come from speech that the fit has not seen: each tenth of the texts, held against the other nine."""

_MOST_FLOOR_S = 0.6
"""A word that lasts so much longer than it should is followed by another."""
_LEAST_SHORTER, _LEAST_LONGER = 0.1, 0.15
"""Bounds are never closer: speech can linger on a word more easily than it can hurry."""

_TAIL = 0.005
"""Share of the short examples that may lie beyond the floor: some of them are bad."""

_OUTLIER = 5.0
"""Deviations beyond so many robust standard deviations are defects of the examples, not speech to learn from."""
_ROUNDS = 5

_SYLLABIC = re.compile(f"[{SYLLABIC}]")
_DIGIT = re.compile(r"\d")
_LETTER = re.compile(r"[^\W\d_]")
_MARK = re.compile(r"[^\w\s'’\-\"“”„«»()\[\]]+")
"""Quotation marks and brackets are silent; the text beside them is spoken."""

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
    shorter_floor_s: float = SLACK_S
    longer_floor_s: float = SLACK_S
    """Nor are bounds ever closer than this, which is what short texts need."""

    def expected_s(self, text: str) -> float:
        size = text_size(text)
        weighted = self.letter_s * size.letters + self.word_s * size.words + self.mark_s * size.marks
        return max(0.0, self.base_s + weighted)

    def shortest_s(self, text: str) -> float:
        expected_s = self.expected_s(text)
        return max(0.0, expected_s - max(self.shorter_floor_s, expected_s * self.shorter_share + SLACK_S))

    def usual_s(self, text: str) -> float:
        """Half the share below the expectation, and as much as a word alone is often shorter."""
        return max(0.0, self.expected_s(text) * (1 - self.shorter_share / 2) - USUAL_SLACK_S)

    def longest_s(self, text: str) -> float:
        expected_s = self.expected_s(text)
        return expected_s + max(self.longer_floor_s, expected_s * self.longer_share + SLACK_S)


@lru_cache(maxsize=64)
def text_size(text: str) -> TextSize:
    syllabic, digits = len(_SYLLABIC.findall(text)), len(_DIGIT.findall(text))
    letters = len(_LETTER.findall(text)) + (SYLLABIC_UNITS - 1) * syllabic + LETTERS_PER_DIGIT * digits
    return TextSize(letters, len(text.split()), len(_MARK.findall(text)))


def fit_duration(texts: Sequence[str], durations_s: Sequence[float]) -> DurationModel:
    """Least squares over what is left when outliers are taken out, round by round. Raises TooFewExamples.

    How far off good speech may be is measured on texts that the fit did not see.
    """
    if len(texts) < MIN_EXAMPLES:
        raise TooFewExamples(f"{len(texts)} examples; a duration model wants {MIN_EXAMPLES}")
    sizes = [text_size(text) for text in texts]
    rows = np.array([(1, size.letters, size.words, size.marks) for size in sizes], np.float64)
    seconds = np.array(durations_s, np.float64)
    coefficients, kept = _robust_fit(rows, seconds)
    expected, errors = (values[kept] for values in _unseen_errors(texts, rows, seconds))
    base_s, letter_s, word_s, mark_s = (round(float(value), 5) for value in coefficients)
    return DurationModel(
        base_s,
        letter_s,
        word_s,
        mark_s,
        shorter_share=_share(expected, -errors, _LEAST_SHORTER),
        longer_share=_share(expected, errors, _LEAST_LONGER),
        shorter_floor_s=_floor_s(expected, -errors),
        longer_floor_s=_floor_s(expected, errors),
    )


def _robust_fit(rows: _Floats, seconds: _Floats) -> tuple[_Floats, NDArray[np.bool_]]:
    """The coefficients, and which examples are no outliers."""
    kept = np.ones(len(rows), bool)
    for _ in range(_ROUNDS):
        kept = _usual(rows, seconds, _least_squares(rows[kept], seconds[kept]))
    return _least_squares(rows[kept], seconds[kept]), kept


def _unseen_errors(texts: Sequence[str], rows: _Floats, seconds: _Floats) -> tuple[_Floats, _Floats]:
    """(expected, seconds beyond it) of each example, by a fit that has not seen its text."""
    order = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    folds = np.array([order[text] % _FOLDS for text in texts])
    expected = np.zeros(len(rows))
    for fold in range(_FOLDS):
        unseen = folds == fold
        if unseen.any() and not unseen.all():
            expected[unseen] = rows[unseen] @ _robust_fit(rows[~unseen], seconds[~unseen])[0]
    return expected, seconds - expected


def _share(expected: _Floats, beyond_s: _Floats, least: float) -> float:
    """Of the expectation, what `SLACK_S` does not cover of texts that are not short."""
    is_long = expected >= SHORT_S
    shares = (beyond_s[is_long] - SLACK_S) / expected[is_long]
    return round(min(0.9, max(least, float(shares.max(initial=0)))), 3)


def _floor_s(expected: _Floats, beyond_s: _Floats) -> float:
    """What covers the short texts, but for the one in two hundred that is not said as it stands."""
    short = beyond_s[expected < SHORT_S]
    most_s = float(np.quantile(short, 1 - _TAIL)) if len(short) else 0.0
    return round(min(_MOST_FLOOR_S, max(SLACK_S, most_s)), 3)


def _least_squares(rows: _Floats, seconds: _Floats) -> _Floats:
    """Coefficients; long texts may err more, so every example weighs by its own length."""
    weighted = rows * _weights(rows)[:, None]
    # Without this, a mark in every example could not be separated from the base.
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
