"""The checkpoint that comes with the code is whole, and what its card says about it is true."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

import worker
from worker.engine.interface import ModelTask
from worker.engine.model.config import read_default_sampling, read_max_text_chars, read_model_config
from worker.engine.stages.codec import CodecStage

SMALL_VOICE = Path(worker.__file__).parent / "small_voice"
MAX_BYTES = 44_000_000


def test_its_weights_are_those_of_its_card() -> None:
    card = (SMALL_VOICE / "README.md").read_text(encoding="utf-8")

    for name in ("model.safetensors", "speech_tokenizer/model.safetensors"):
        content = (SMALL_VOICE / name).read_bytes()
        assert f"| `{name}` | {len(content):,} | `{hashlib.sha256(content).hexdigest()}` |" in card


def test_it_is_small_enough_to_come_with_the_code() -> None:
    assert sum(file.stat().st_size for file in SMALL_VOICE.rglob("*") if file.is_file()) < MAX_BYTES


def test_it_speaks_english_with_two_voices() -> None:
    config = read_model_config(SMALL_VOICE / "config.json")

    assert config.task is ModelTask.CUSTOM_VOICE
    assert set(config.talker.speakers) == {"slt", "rms"}
    assert set(config.talker.languages) == {"english"}


def test_it_takes_the_most_likely_entry_unless_asked_otherwise() -> None:
    sampling = read_default_sampling(SMALL_VOICE / "generation_config.json")

    assert sampling.talker.temperature == 0
    assert sampling.predictor.temperature == 0


def test_it_is_given_no_longer_texts_than_its_training_had() -> None:
    assert read_max_text_chars(SMALL_VOICE / "generation_config.json") < 285


def test_its_decoder_makes_sound_of_its_codes() -> None:
    codec = CodecStage.load(SMALL_VOICE, "cpu")
    shape = (5, codec.config.num_quantizers)
    frames = np.random.default_rng(0).integers(0, codec.config.codebook_size, size=shape, dtype=np.int16)

    pcm = codec.decode(frames)

    assert pcm.shape == (5 * codec.config.samples_per_frame,)
    assert 0.01 < np.abs(pcm).max() <= 1.0


def test_it_needs_no_notice_any_more() -> None:
    assert not (SMALL_VOICE / "NOTICE.txt").exists()


@pytest.mark.parametrize("name", ["vocab.json", "merges.txt", "tokenizer_config.json", "preprocessor_config.json"])
def test_no_file_of_the_published_layout_is_missing(name: str) -> None:
    assert (SMALL_VOICE / name).is_file()
