"""Words that are said in two ways, each in sentences that decide which."""

from __future__ import annotations

from pathlib import Path

import pytest

from worker.engine.kokoro.phones import Accent, phones_of

SENTENCES = [
    tuple(line.split("\t"))
    for line in Path(__file__).with_name("heteronym_sentences.tsv").read_text(encoding="utf-8").splitlines()
]


@pytest.mark.parametrize(("sentence", "word", "expected"), SENTENCES)
def test_a_sentence_decides_how_a_word_is_said(sentence: str, word: str, expected: str) -> None:
    at = [each.strip(',.!?"') for each in sentence.split()].index(word)

    said = phones_of(sentence, Accent.AMERICAN).split()

    assert len(said) == len(sentence.split())
    assert said[at].strip(",.!?“”") == expected


def test_there_are_sixty_sentences() -> None:
    assert len(SENTENCES) >= 60
