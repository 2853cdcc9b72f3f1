"""The dictionaries and the network of Kokoro's phones at toy size, each by its own command line."""

from __future__ import annotations

import gzip
import hashlib
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from tests.training.options import arguments
from training.aligner import misaki_dictionaries, train_unknown_words
from training.aligner.misaki_dictionaries import dictionary_lines
from training.aligner.model import TrainedStack
from training.steps import Unusable
from worker.engine.convolutions import load_stack
from worker.engine.kokoro.phones.dictionary import Accent
from worker.engine.kokoro.phones.unknown_words import INPUTS, SLOTS, SOUNDS, spelling

GOLD = {
    "batter": "bˈæɾəɹ",
    "button": "bˈʌʔn",
    "read": {"DEFAULT": "ɹˈid", "VBD": "ɹˈɛd"},
    "AM": {"DEFAULT": "æm", "NOUN": None},
    **{f"wo{letter}ld": "wˈɜɹld" for letter in "abcdefghij"},
}


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "misaki.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(misaki_dictionaries.LICENCE, "Apache License")
        for accent in Accent:
            archive.writestr(f"misaki/data/{accent}_gold.json", json.dumps(GOLD, ensure_ascii=False))
            archive.writestr(f"misaki/data/{accent}_silver.json", json.dumps({"chat": "ʧˈæt"}, ensure_ascii=False))
    monkeypatch.setattr(misaki_dictionaries, "WHEEL_SHA256", hashlib.sha256(path.read_bytes()).hexdigest())
    return path


def test_a_dictionary_is_written_line_by_line(wheel: Path, tmp_path: Path) -> None:
    misaki_dictionaries.main(arguments(wheel=wheel, out=tmp_path))

    lines = gzip.decompress((tmp_path / "us.txt.gz").read_bytes()).decode().splitlines()
    assert lines[:5] == ["AM\tæm\tNOUN=", "batter\tbˈæTəɹ", "button\tbˈʌtn", "chat\tʧˈæt", "read\tɹˈid\tVBD=ɹˈɛd"]
    assert (tmp_path / "LICENSE").read_text() == "Apache License"


def test_a_genitive_of_a_known_word_is_left_out() -> None:
    assert dictionary_lines({"Ann": "ˈæn"}, {"ann's": "x", "ann": "x", "bo's": "bˈOz"}) == [
        "Ann\tˈæn\n".encode(),
        "bo's\tbˈOz\n".encode(),
    ]


def test_another_wheel_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "other.whl").write_bytes(b"other")

    with pytest.raises(Unusable, match="not the wheel of misaki"):
        misaki_dictionaries.main(arguments(wheel=tmp_path / "other.whl", out=tmp_path))


@pytest.mark.usefixtures("restored_torch")
def test_the_network_that_was_trained_is_the_one_that_guesses(wheel: Path, tmp_path: Path) -> None:
    weights = tmp_path / "unknown_words.safetensors"

    train_unknown_words.main(arguments(wheel=wheel, out=weights, steps=2))

    model = TrainedStack(INPUTS, train_unknown_words.CHANNELS, SLOTS * len(SOUNDS))
    model.load_state_dict({name: each.float() for name, each in load_file(weights).items()})
    letters = spelling("wold", Accent.BRITISH)
    with torch.no_grad():
        expected = model(torch.from_numpy(letters).T[None])[0].T.numpy()
    network = load_stack({name: each.numpy() for name, each in load_file(weights).items()})
    np.testing.assert_allclose(network(letters), expected, atol=1e-4)
