"""What is wrong with a speech tokenizer is said at start, by name."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from worker.engine.errors import CheckpointError, RequestRejected
from worker.engine.stages.codec import CodecStage

Config = dict[str, Any]
Tensors = dict[str, torch.Tensor]


@pytest.fixture
def checkpoint(checkpoints: Mapping[str, Path], tmp_path: Path) -> Path:
    """A copy of the custom_voice checkpoint that a test may damage."""
    return Path(shutil.copytree(checkpoints["custom_voice"], tmp_path / "checkpoint"))


def edit_config(checkpoint: Path, edit: Callable[[Config], object]) -> None:
    path = checkpoint / "speech_tokenizer" / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    edit(config)
    path.write_text(json.dumps(config), encoding="utf-8")


def edit_tensors(checkpoint: Path, edit: Callable[[Tensors], object]) -> None:
    path = checkpoint / "speech_tokenizer" / "model.safetensors"
    tensors = load_file(path)
    edit(tensors)
    save_file(tensors, path)


def drop_encoder(checkpoint: Path) -> None:
    edit_config(checkpoint, lambda config: config.pop("encoder_config"))
    edit_tensors(checkpoint, lambda tensors: [tensors.pop(name) for name in list(tensors) if name.startswith("enc")])


def test_the_configuration_says_what_the_codec_is(checkpoint: Path) -> None:
    config = CodecStage.load(checkpoint, "cpu").config

    assert (config.sample_rate_hz, config.samples_per_frame) == (24_000, 1920)
    assert (config.num_quantizers, config.codebook_size) == (16, 64)


WRONG_FIELDS: list[tuple[Callable[[Config], object], str]] = [
    (lambda c: c["decoder_config"].pop("sliding_window"), "decoder_config.sliding_window is missing"),
    (lambda c: c["encoder_config"].pop("num_filters"), "encoder_config.num_filters is missing"),
    (lambda c: c["decoder_config"].update(latent_dim="48"), "decoder_config.latent_dim should be an integer"),
    (lambda c: c["decoder_config"].update(hidden_act="gelu"), "decoder_config.hidden_act"),
    (lambda c: c["decoder_config"].update(upsample_rates=[8, 5, 4, 2]), "decode_upsample_rate is 1920"),
    (lambda c: c["encoder_config"].update(upsampling_ratios=[8, 6, 5]), "encoder_config.upsampling_ratios"),
    (lambda c: c["encoder_config"].update(codebook_size=32), "encoder_config.codebook_size is 32, should be 64"),
    (lambda c: c["encoder_config"].update(use_conv_shortcut=True), "encoder_config.use_conv_shortcut"),
    (lambda c: c.update(input_sample_rate=16_000), "input_sample_rate is 16000, should be 24000"),
    (lambda c: c.update(model_type="qwen3_tts_tokenizer_25hz"), "model_type"),
]


@pytest.mark.parametrize(("edit", "complaint"), WRONG_FIELDS)
def test_a_wrong_field_is_named(checkpoint: Path, edit: Callable[[Config], object], complaint: str) -> None:
    edit_config(checkpoint, edit)

    with pytest.raises(CheckpointError, match=complaint):
        CodecStage.load(checkpoint, "cpu")


WRONG_TENSORS: list[tuple[Callable[[Tensors], object], str]] = [
    (lambda t: t.pop("decoder.pre_conv.conv.bias"), r"missing tensors: pre_conv\.conv\.bias"),
    (lambda t: t.update({"decoder.extra": torch.zeros(1)}), "unknown tensors: extra"),
    (lambda t: t.update({"decoder.pre_conv.conv.bias": torch.zeros(3)}), "misshapen"),
    (lambda t: t.pop("encoder.downsample.conv.weight"), r"missing tensors: downsample\.conv\.weight"),
    (lambda t: t.update({"third_part.weight": torch.zeros(1)}), "parts that .* does not describe"),
]


@pytest.mark.parametrize(("edit", "complaint"), WRONG_TENSORS)
def test_a_wrong_tensor_is_named(checkpoint: Path, edit: Callable[[Tensors], object], complaint: str) -> None:
    edit_tensors(checkpoint, edit)

    with pytest.raises(CheckpointError, match=complaint):
        CodecStage.load(checkpoint, "cpu")


def test_missing_files_are_named(checkpoint: Path) -> None:
    (checkpoint / "speech_tokenizer" / "model.safetensors").unlink()

    with pytest.raises(CheckpointError, match="cannot read the weights"):
        CodecStage.load(checkpoint, "cpu")


def test_a_tokenizer_without_an_encoder_speaks_and_rejects_recordings(checkpoint: Path) -> None:
    drop_encoder(checkpoint)

    codec = CodecStage.load(checkpoint, "cpu")

    assert codec.decode(np.zeros((2, 16), dtype=np.int16)).shape == (2 * 1920,)
    with pytest.raises(RequestRejected, match="no encoder"):
        codec.prepared(np.zeros(4800, dtype=np.float32), 24_000)


def test_a_base_checkpoint_needs_an_encoder(checkpoints: Mapping[str, Path], tmp_path: Path) -> None:
    checkpoint = Path(shutil.copytree(checkpoints["base"], tmp_path / "base"))
    drop_encoder(checkpoint)

    with pytest.raises(CheckpointError, match="encoder_config is missing"):
        CodecStage.load(checkpoint, "cpu")


def test_encoder_tensors_that_no_configuration_describes_are_refused(checkpoint: Path) -> None:
    edit_config(checkpoint, lambda config: config.pop("encoder_config"))

    with pytest.raises(CheckpointError, match="does not describe"):
        CodecStage.load(checkpoint, "cpu")


def test_half_precision_weights_are_computed_with_in_float32(checkpoint: Path) -> None:
    edit_tensors(checkpoint, lambda t: t.update({name: tensor.half() for name, tensor in t.items()}))

    pcm = CodecStage.load(checkpoint, "cpu").decode(np.zeros((2, 16), dtype=np.int16))

    assert pcm.dtype == np.float32
