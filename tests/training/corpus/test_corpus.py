"""What the corpus makes of its sources, which here are as small as files of their layout can be."""

from __future__ import annotations

import random
import zlib
from collections.abc import Sequence
from pathlib import Path

import pytest

from training.corpus.corpus import corpus_rows, decorate, letters
from training.corpus.rows import Row, spoken_words
from training.corpus.sentences import EVERYDAY, HARVARD
from training.dimensions import SPLITS

WORDS = "a the cat dog house sees saw big small and is in it of under table was old man had no fear light let there be"
UNSEEN = "The old man had no fear."
WORDNET = '00001 03 n 01 cat 0 000 @ | a small dog and a cat; "the cat sees the big house"'
VERSES = "ge1:3 Let there be light, and there was light."
FORTUNES = "The old man had no fear.\n%\nA dog was in the house.\n\t\t-- a man\n"
NOVEL = "It was a big house. The man saw it."


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As Debian packages lie when they are unpacked."""
    root = tmp_path_factory.mktemp("sources")
    files = {
        "usr/share/wordnet/data.noun": f"  a licence | which is none\n{WORDNET}\n".encode(),
        "usr/share/games/fortunes/fortunes": FORTUNES.encode(),
        "usr/lib/R/janeaustenr/data/Rdata.rdb": b"\0\0\0\0" + zlib.compress(NOVEL.encode()),
        "usr/bin/bible": f"#!/bin/sh\necho '{VERSES}'\n".encode(),
        "unseen.txt": UNSEEN.encode(),
    }
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    (root / "usr/bin/bible").chmod(0o755)
    return root


@pytest.fixture(scope="module")
def rows(root: Path) -> Sequence[Row]:
    return corpus_rows(root, [root / "unseen.txt"], WORDS.split(), random.Random(7))


def test_every_source_is_in_the_corpus(rows: Sequence[Row]) -> None:
    spoken = " ".join(row.spoken for row in rows)

    for sentence in (
        "The cat sees the big house.",
        "A dog was in the house.",
        "The man saw it.",
        "A small dog and a cat.",
    ):
        assert sentence in spoken
    assert "Let there be light, and there was light." in spoken
    assert {row.split for row in rows} == set(SPLITS)
    assert [row.number for row in rows] == list(range(len(rows)))


def test_what_is_not_to_be_seen_is_not_trained_on(rows: Sequence[Row]) -> None:
    trained = " ".join(letters(row.spoken) for row in rows if row.split == "train")

    assert [row.text for row in rows if row.split == "test"] == [UNSEEN]
    assert not [text for text in (UNSEEN, *HARVARD, *EVERYDAY) if letters(text) in trained]


def test_the_voices_say_the_words_that_the_talker_reads(rows: Sequence[Row]) -> None:
    assert [row for row in rows if letters(row.text) != letters(row.spoken)] == []


def test_marks_change_no_word() -> None:
    rng = random.Random(1)
    text = "It's late, said the cat, and I'm tired."

    decorated = {decorate(text, rng) for _ in range(200)}

    assert len(decorated) > 20
    assert {letters(one) for one in decorated} == {letters(text)}
    assert {len(spoken_words(one)) for one in decorated} == {len(text.split())}
