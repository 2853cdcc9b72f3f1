from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from worker.engine.errors import CheckpointError, RequestRejected
from worker.engine.model.config import read_model_config
from worker.engine.requests.text_tokenizer import TextTokenizer


def load(checkpoint: Path) -> TextTokenizer:
    return TextTokenizer.load(checkpoint, read_model_config(checkpoint / "config.json").text_control)


@pytest.fixture
def checkpoint(make_checkpoint: Any, tmp_path: Path) -> Path:
    make_checkpoint(tmp_path, "tiny", "custom_voice", 3, 1.0)
    return tmp_path


@pytest.mark.parametrize(
    "written", ["<|im_end|>", "<|im_start|>assistant\n", "<tts_pad>", "a<|endoftext|>b", "<tts_text_eod>"]
)
def test_no_text_produces_a_special_token(written: str, checkpoint: Path) -> None:
    added = json.loads((checkpoint / "tokenizer_config.json").read_text(encoding="utf-8"))["added_tokens_decoder"]

    ids = load(checkpoint).encode(written)

    assert not {str(token_id) for token_id in ids} & added.keys()


def test_every_unicode_text_has_ids(checkpoint: Path) -> None:
    assert load(checkpoint).encode("\x00\u202e\U0001f9ff\ufffd\n\t") != ()


def test_lone_surrogates_are_rejected(checkpoint: Path) -> None:
    with pytest.raises(RequestRejected, match="surrogate"):
        load(checkpoint).encode("bad \ud800 text")


@pytest.mark.parametrize(
    ("merge", "complaint"), [("a b c", r"merges\.txt:2 is not a pair"), ("q q", r"does not fit vocab\.json")]
)
def test_merges_that_are_no_pair_or_that_the_vocabulary_lacks_are_refused(
    checkpoint: Path, merge: str, complaint: str
) -> None:
    (checkpoint / "merges.txt").write_text(f"#version: 0.2\n{merge}\n", encoding="utf-8")

    with pytest.raises(CheckpointError, match=complaint):
        load(checkpoint)


def test_control_ids_must_be_the_tokenizer_s_special_tokens(checkpoint: Path) -> None:
    path = checkpoint / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    config["tts_pad_token_id"] = config["im_end_token_id"]
    path.write_text(json.dumps(config), encoding="utf-8")

    with pytest.raises(CheckpointError, match=r"tokenizer_config\.json"):
        load(checkpoint)


@pytest.mark.parametrize("name", ["vocab.json", "merges.txt", "tokenizer_config.json"])
def test_a_missing_file_is_named(name: str, checkpoint: Path) -> None:
    (checkpoint / name).unlink()

    with pytest.raises(CheckpointError, match=name):
        load(checkpoint)
