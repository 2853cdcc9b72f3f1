"""What a calibration speaks: every kind of line that people send, as the model gets it; and none that judges it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import benchmarks
from reading.segmenting.lengths import LengthRules
from training.corpus.sentences import template_sentence
from worker.engine.interface import TextFrontEnd
from worker.speech.quality.calibration.calibrate import TEXTS, as_spoken

EVERYDAY_LINES = Path(benchmarks.__path__[0]) / "speech/everyday.txt"

SHORT_UNITS = 12
"""A word or two."""


def letters(line: str) -> str:
    return "".join(mark for mark in line.casefold() if mark.isalnum())


def lines_of(path: Path) -> list[str]:
    return [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


@pytest.mark.parametrize("path", sorted(TEXTS.glob("*.txt")), ids=lambda path: path.stem)
def test_every_language_has_short_lines_digits_and_dialogue(path: Path) -> None:
    lines = lines_of(path)

    assert sum(len(line) <= SHORT_UNITS for line in lines) >= 15
    assert sum(any(mark.isdigit() for mark in line) for line in lines) >= 8
    assert sum(any(mark in '"“„«「—' for mark in line) for line in lines) >= 3


def test_numbers_are_measured_as_the_model_reads_them() -> None:
    english, russian = "She was born in 1867.", "Она родилась в 1867."
    words = TextFrontEnd.WORDS
    assert as_spoken(english, LengthRules(), "english", words) == ["She was born in eighteen sixty-seven."]
    assert as_spoken(russian, LengthRules(), "russian", words) == [russian]
    assert as_spoken(english, LengthRules(), "english", TextFrontEnd.RAW) == [english]


def test_a_thousand_lines_that_judge_the_bounds_were_in_no_training_and_no_calibration() -> None:
    lines = lines_of(EVERYDAY_LINES)

    dice = random.Random(0)
    templates = (template_sentence(dice) for _ in range(20_000))

    seen = {letters(line) for line in (*lines_of(TEXTS / "english.txt"), *templates)}

    assert 2 * len(lines) >= 1_000
    assert [line for line in lines if letters(line) in seen] == []
