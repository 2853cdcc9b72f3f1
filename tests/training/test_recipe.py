"""The whole recipe at toy size, each step by its own command line: from rows of text to a checkpoint that speaks."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from tests.training.options import arguments
from tests.training.tone_voice import ToneVoice
from training import evaluate, export, train_speaker_encoder
from training.codec import quantizer, train_decoder
from training.corpus import text_tokenizer
from training.corpus.rows import Row, write_rows
from training.dimensions import SPEAKERS
from training.speech.synthesis import read_lines, speak_all
from training.talker import packing, train_talker

WORDS = (
    *("a", "harbour", "at", "night", "is", "quiet", "and", "the", "small", "boats", "sleep", "near"),
    *("old", "walls", "while", "rain", "falls", "on", "dark", "water"),
)
ROWS_OF_SPEAKER = 9
"""Of eleven words, 4.5 s each: as much as the speaker encoder wants."""


class Folders:
    """And files: what each step leaves for those behind it."""

    def __init__(self, root: Path) -> None:
        self.corpus = root / "corpus.tsv"
        self.tokenizer, self.packed, self.model = root / "tokenizer", root / "packed", root / "model"
        self.quantizer, self.encoder = root / "quantizer.pt", root / "encoder.pt"
        self.decoder, self.talker, self.evaluation = root / "decoder", root / "talker", root / "evaluation"


def rows() -> list[Row]:
    """Row 0 is what is evaluated; numbers that end in 0 are the first speaker's, in 5 the second's."""
    texts = [" ".join(WORDS[(n + k) % len(WORDS)] for k in range(11)) + "." for n in range(2 * ROWS_OF_SPEAKER)]
    trained = [Row(10 * n + 10 + 5 * (n % 2), "train", text, text) for n, text in enumerate(texts)]
    return [Row(0, "test", "Come in.", "Come in."), Row(1, "heldout", texts[0], texts[0]), *trained]


@pytest.fixture
def speech(tmp_path: Path) -> Path:
    folder = tmp_path / "speech"
    folder.mkdir()
    corpus = Folders(tmp_path).corpus
    write_rows(corpus, rows())
    speak_all(0, read_lines(corpus), (ToneVoice(210), ToneVoice(110)), folder, math.inf)
    return folder


@pytest.mark.usefixtures("restored_torch")
def test_from_rows_of_text_to_a_checkpoint_that_is_heard(speech: Path, tmp_path: Path) -> None:
    folders = Folders(tmp_path)
    text_tokenizer.main(arguments(corpus=folders.corpus, out=folders.tokenizer))
    quantizer.main(arguments(speech=speech, out=folders.quantizer, hours=0.0135, steps=1))
    train_decoder.main(
        arguments(speech=speech, quantizer=folders.quantizer, out=folders.decoder, hours=0.004)
        + arguments(seconds=0.1, batch=1, crop=1, adversarial_from=0)
    )
    packing.main(
        arguments(speech=speech, quantizer=folders.quantizer, tokenizer=folders.tokenizer, out=folders.packed, jobs=1)
    )
    train_talker.main(
        arguments(packed=folders.packed, tokenizer=folders.tokenizer, out=folders.talker, optimizer="muon")
        + arguments(seconds=0.1, positions=100, predictor_frames=20)
    )
    train_speaker_encoder.main(arguments(speech=speech, out=folders.encoder, steps=1, batch=2))
    export.main(
        arguments(talker=folders.talker / "talker.pt", decoder=folders.decoder / "decoder.pt")
        + arguments(speaker_encoder=folders.encoder, tokenizer=folders.tokenizer, out=folders.model)
    )
    evaluate.main(
        arguments(speech=speech, model=folders.model, corpus=folders.corpus, quantizer=folders.quantizer)
        + arguments(out=folders.evaluation, sentences=1, samples=1, jobs=1, device="cpu")
    )

    report = json.loads((folders.evaluation / "evaluation.json").read_text())
    for judged in ("teachers", "codec", "model"):
        assert {(one["number"], one["speaker"]) for one in report[judged]["readings"]} == {
            (0, name) for name in SPEAKERS
        }
        assert report[judged]["all"]["sentences"] == len(SPEAKERS)
    assert (folders.evaluation / "0-slt.wav").stat().st_size > 1920
