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
from training.aligner import cmu_words, misaki_dictionaries, train_unknown_words
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


def test_lacking_words_of_the_cmu_dictionary_are_added(
    wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    misaki_dictionaries.main(arguments(wheel=wheel, out=tmp_path))
    cmu = tmp_path / "cmudict.dict"
    cmu.write_text(
        "the DH AH0\nqorville K AO1 R V IH0 L # a place\nqorville(2) K AO0 R V IY1 L\nq.o. K Y UW1 OW1\n"
        "qotta K OW1 T AH0\nqonder K AA1 N D ER0\nqorrin K ER1 IH0 N\nqistle K IH1 S AH0 L\n"
        "qeer K IH1 R\nqotton K AA1 T AH0 N\n"
    )
    monkeypatch.setattr(cmu_words, "CMU_SHA256", hashlib.sha256(cmu.read_bytes()).hexdigest())

    cmu_words.main(arguments(cmu=cmu, out=tmp_path))

    us, gb = (
        dict(
            line.split("\t")[:2]
            for line in gzip.decompress((tmp_path / f"{accent}.txt.gz").read_bytes()).decode().splitlines()
        )
        for accent in Accent
    )
    names = ("qorville", "qotta", "qonder", "qorrin", "qistle", "qeer", "qotton")
    assert [us[name] for name in names] == ["kˈɔɹvɪl", "kˈOTə", "kˈɑndəɹ", "kˈɜɹɪn", "kˈɪsᵊl", "kˈɪɹ", "kˈɑtᵊn"]
    assert [gb[name] for name in names] == ["kˈɔːvɪl", "kˈQtə", "kˈɒndə", "kˈɜːɹɪn", "kˈɪsᵊl", "kˈɪə", "kˈɒtᵊn"]
    assert "batter" in us
    assert "the" not in us


def test_another_cmu_dictionary_is_rejected() -> None:
    with pytest.raises(Unusable, match="not the CMU dictionary"):
        cmu_words.cmu_words(b"the DH AH0\n")


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
