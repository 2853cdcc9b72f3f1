"""The aligner's recipe at toy size, each step by its own command line; what it leaves is what the worker computes."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from tests.training.options import arguments
from tests.training.tone_voice import ToneVoice
from training.aligner import heard, train_sounds, train_spelling
from training.aligner.model import TrainedStack
from training.corpus.rows import Row, write_rows
from training.steps import Unusable
from worker.speech.alignment.aligner import WordAligner, load_networks
from worker.speech.alignment.features import NUM_BANDS, features
from worker.speech.alignment.pronunciation import LETTERS, SLOTS
from worker.speech.alignment.sounds import SOUNDS

TEXTS = ("a harbour at night", "is quiet and the", "small boats sleep", "near old walls while")
LINES = """MNCL
("cat" nil (((k ae t) 1)))
("cattle" nil (((k ae t) 1) ((ax l) 0)))
("at" nil (((ae t) 1)))
("x2" nil (((eh k s) 1)))
"""


@pytest.fixture
def weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(heard, "VOICES", {"high": _high, "low": _low})
    rows = [Row(number, "train", text, text) for number, text in enumerate(TEXTS)]
    write_rows(tmp_path / "corpus.tsv", rows)
    (tmp_path / train_spelling.DICTIONARY).parent.mkdir(parents=True)
    (tmp_path / train_spelling.DICTIONARY).write_text(LINES, encoding="utf-8")
    (tmp_path / "weights").mkdir()
    heard.main(arguments(corpus=tmp_path / "corpus.tsv", voices=tmp_path, out=tmp_path / "heard"))
    train_sounds.main(arguments(heard=tmp_path / "heard", out=tmp_path / "weights/sounds.safetensors", steps=2))
    train_spelling.main(arguments(voices=tmp_path, out=tmp_path / "weights/spelling.safetensors", steps=2))
    return tmp_path / "weights"


@pytest.mark.usefixtures("restored_torch")
def test_what_was_trained_is_what_the_worker_computes(weights: Path) -> None:
    networks = load_networks(weights)
    signal = np.random.default_rng(0).standard_normal((1, 30, NUM_BANDS)).astype(np.float32)
    letters = np.random.default_rng(1).standard_normal((2, 9, len(LETTERS))).astype(np.float32)

    trained = _trained(load_file(weights / "sounds.safetensors"), NUM_BANDS, len(SOUNDS))
    spelling = _trained(load_file(weights / "spelling.safetensors"), len(LETTERS), SLOTS * len(SOUNDS))

    np.testing.assert_allclose(networks.hears(signal), _computed(trained, signal), atol=1e-4)
    np.testing.assert_allclose(networks.spells(letters), _computed(spelling, letters), atol=1e-4)
    assert np.exp(networks.log_prior).sum() == pytest.approx(1, abs=0.01)
    said = ToneVoice(150).speak("a harbour at night")
    pcm = (said.samples * 32_767).astype(np.int16)
    times = WordAligner(networks).align(pcm, said.rate_hz, ["a", "harbour", "at", "night"], english=True)
    bounds = [bound for word in times.words for bound in word.bounds]
    assert bounds == sorted(bounds)


def test_the_sound_of_each_frame_moves_with_the_speed_of_its_disguise() -> None:
    said = ToneVoice(150).speak("a harbour at night")

    plain, sounds = heard.plain(said)
    other, other_sounds = heard.disguised(said, random.Random(4))

    assert len(plain) == len(sounds)
    assert len(other) == len(other_sounds)
    assert set(np.unique(other_sounds)) == set(np.unique(sounds))
    assert len(features((said.samples * 32_767).astype(np.int16), said.rate_hz)) == len(plain)


def test_a_folder_without_speech_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match="fewer than two parts"):
        train_sounds.main(arguments(heard=tmp_path, out=tmp_path / "x"))
    (tmp_path / train_spelling.DICTIONARY).parent.mkdir(parents=True)
    (tmp_path / train_spelling.DICTIONARY).write_text("MNCL\n", encoding="utf-8")
    with pytest.raises(Unusable, match="no entry of a dictionary"):
        train_spelling.main(arguments(voices=tmp_path, out=tmp_path / "x"))


def _high(_unpacked: Path) -> ToneVoice:
    return ToneVoice(210)


def _low(_unpacked: Path) -> ToneVoice:
    return ToneVoice(110)


def _trained(tensors: Mapping[str, torch.Tensor], inputs: int, outputs: int) -> TrainedStack:
    model = TrainedStack(inputs, train_sounds.CHANNELS, outputs)
    model.load_state_dict({name: each.float() for name, each in tensors.items() if name != "log_prior"})
    return model


@torch.no_grad()
def _computed(model: TrainedStack, signal: np.ndarray) -> np.ndarray:
    scores: torch.Tensor = model(torch.from_numpy(signal).transpose(1, 2)).transpose(1, 2)
    return scores.numpy()
