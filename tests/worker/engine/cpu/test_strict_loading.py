"""A checkpoint that is not as published is refused, and the error names what is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from worker.engine.errors import CheckpointError
from worker.engine.interface import SamplingParams, TokenSampling
from worker.engine.model.config import (
    UNLIMITED_TEXT_CHARS,
    ConfigFields,
    read_default_sampling,
    read_max_text_chars,
    read_model_config,
    read_segmentation,
    read_text_front_end,
)
from worker.engine.model.weights import load_strict, read_tensors

HEAD = "talker.codec_head.weight"
QUERY = "talker.model.layers.1.self_attn.q_proj.weight"
NORM = "talker.code_predictor.model.layers.0.self_attn.k_norm.weight"
TABLE = "talker.code_predictor.lm_head.14.weight"


@pytest.fixture
def checkpoint(make_checkpoint: Callable[..., str], tmp_path: Path) -> Path:
    make_checkpoint(tmp_path, "tiny", "custom_voice", 3, 1.0)
    return tmp_path


def edit_tensors(checkpoint: Path, edit: Callable[[dict[str, Tensor]], object]) -> None:
    path = checkpoint / "model.safetensors"
    tensors = load_file(path)
    edit(tensors)
    save_file(tensors, path)


def edit_config(checkpoint: Path, edit: Callable[[dict[str, Any]], object], name: str = "config.json") -> None:
    path = checkpoint / name
    config = json.loads(path.read_text(encoding="utf-8"))
    edit(config)
    path.write_text(json.dumps(config), encoding="utf-8")


@pytest.mark.parametrize("name", [HEAD, QUERY, NORM, TABLE])
def test_a_missing_tensor_is_named(name: str, checkpoint: Path, open_rig: Any) -> None:
    edit_tensors(checkpoint, lambda tensors: tensors.pop(name))

    with pytest.raises(CheckpointError, match=rf"1 missing tensors: {local(name)}"):
        open_rig(checkpoint)


@pytest.mark.parametrize("name", [HEAD, QUERY, NORM, TABLE])
def test_a_misshapen_tensor_is_named_with_both_shapes(name: str, checkpoint: Path, open_rig: Any) -> None:
    edit_tensors(checkpoint, lambda tensors: tensors.update({name: torch.zeros(3, 5)}))

    with pytest.raises(CheckpointError, match=rf"{local(name)} is \(3, 5\), should be \(\d+"):
        open_rig(checkpoint)


@pytest.mark.parametrize(
    "name",
    ["talker.model.layers.3.mlp.up_proj.weight", "talker.model.surplus", "speaker_encoder.fc.conv.weight", "odd"],
)
def test_an_unknown_tensor_is_named(name: str, checkpoint: Path, open_rig: Any) -> None:
    edit_tensors(checkpoint, lambda tensors: tensors.update({name: torch.zeros(2)}))

    with pytest.raises(CheckpointError, match=rf"1 unknown tensors: {local(name)}"):
        open_rig(checkpoint)


def test_a_wide_predictor_has_no_projection(checkpoint: Path, make_checkpoint: Any, open_rig: Any) -> None:
    make_checkpoint(checkpoint, "tiny", "base", 3, 1.0)
    name = "talker.code_predictor.small_to_mtp_projection.weight"
    edit_tensors(checkpoint, lambda tensors: tensors.update({name: torch.zeros(64, 64)}))

    with pytest.raises(CheckpointError, match=r"1 unknown tensors: small_to_mtp_projection\.weight"):
        open_rig(checkpoint)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_weights_are_run_in_full(dtype: torch.dtype, checkpoint: Path, open_rig: Any) -> None:
    edit_tensors(checkpoint, lambda tensors: tensors.update({k: v.to(dtype) for k, v in tensors.items()}))

    rig = open_rig(checkpoint)

    assert rig.runner.ends.logits(torch.zeros(1, 64)).dtype == torch.float32


def test_a_missing_or_torn_weights_file_is_named(checkpoint: Path) -> None:
    path = checkpoint / "model.safetensors"
    path.write_bytes(path.read_bytes()[:1000])

    with pytest.raises(CheckpointError, match=r"model\.safetensors"):
        read_tensors(path)
    with pytest.raises(CheckpointError, match="no-such-file"):
        read_tensors(checkpoint / "no-such-file")


def test_a_refused_load_leaves_the_module_as_it_was() -> None:
    module = nn.Linear(2, 2)
    before = module.weight.detach().clone()

    with pytest.raises(CheckpointError):
        load_strict(module, {"weight": torch.zeros(2, 2), "bias": torch.zeros(3)}, "here")

    assert torch.equal(module.weight, before)


TALKER_FIELDS = (
    "hidden_size",
    "num_hidden_layers",
    "num_key_value_heads",
    "head_dim",
    "rope_theta",
    "rms_norm_eps",
    "rope_scaling",
    "num_code_groups",
    "codec_eos_token_id",
    "codec_language_id",
    "spk_id",
    "spk_is_dialect",
    "code_predictor_config",
    "text_vocab_size",
    "max_position_embeddings",
)


@pytest.mark.parametrize("field", TALKER_FIELDS)
def test_a_missing_talker_field_is_named(field: str, checkpoint: Path) -> None:
    edit_config(checkpoint, lambda config: config["talker_config"].pop(field))

    with pytest.raises(CheckpointError, match=rf"config\.json: talker_config\.{field} is missing"):
        read_model_config(checkpoint / "config.json")


@pytest.mark.parametrize("field", ["tts_model_type", "tts_model_size", "tts_pad_token_id", "talker_config"])
def test_a_missing_top_level_field_is_named(field: str, checkpoint: Path) -> None:
    edit_config(checkpoint, lambda config: config.pop(field))

    with pytest.raises(CheckpointError, match=rf"config\.json: {field} is missing"):
        read_model_config(checkpoint / "config.json")


@pytest.mark.parametrize(
    ("edit", "complaint"),
    [
        ({"hidden_size": "64"}, "talker_config.hidden_size should be an integer, is '64'"),
        ({"hidden_size": True}, "talker_config.hidden_size should be an integer, is True"),
        ({"rms_norm_eps": None}, "talker_config.rms_norm_eps should be a number, is None"),
        ({"hidden_act": "gelu"}, "talker_config.hidden_act is 'gelu', should be 'silu'"),
        ({"attention_bias": True}, "talker_config.attention_bias is True, should be False"),
        ({"num_key_value_heads": 3}, "should be a multiple of 3 KV heads"),
        ({"codec_eos_token_id": 99999}, "is outside the vocabulary"),
        ({"vocab_size": 2000}, "less than the talker's"),
        ({"spk_is_dialect": {"eric": "klingon"}}, "names 'klingon'"),
    ],
)
def test_a_wrong_talker_field_is_named(edit: dict[str, object], complaint: str, checkpoint: Path) -> None:
    edit_config(checkpoint, lambda config: config["talker_config"].update(edit))

    with pytest.raises(CheckpointError) as raised:
        read_model_config(checkpoint / "config.json")

    assert complaint in str(raised.value)


def test_a_wrong_task_is_named(checkpoint: Path) -> None:
    edit_config(checkpoint, lambda config: config.update(tts_model_type="singing"))

    with pytest.raises(CheckpointError, match="tts_model_type should be one of custom_voice, voice_design, base"):
        read_model_config(checkpoint / "config.json")


def test_sampling_defaults_are_the_checkpoint_s(checkpoint: Path) -> None:
    edit_config(checkpoint, lambda config: config.update(do_sample=False, subtalker_top_k=9), "generation_config.json")

    sampling = read_default_sampling(checkpoint / "generation_config.json")

    assert sampling == SamplingParams(
        talker=TokenSampling(temperature=0.0, top_k=50, top_p=1.0),
        predictor=TokenSampling(temperature=0.9, top_k=9, top_p=1.0),
        repetition_penalty=1.05,
    )


@pytest.mark.parametrize(
    ("read", "named", "taken"),
    [
        (read_max_text_chars, {}, UNLIMITED_TEXT_CHARS),
        (read_max_text_chars, {"max_text_chars": 280}, 280),
        (read_text_front_end, {}, "raw"),
        (read_text_front_end, {"text_front_end": "words"}, "words"),
        (read_segmentation, {}, "packed"),
        (read_segmentation, {"segmentation": "sentence"}, "sentence"),
    ],
)
def test_a_checkpoint_may_say_how_its_texts_are_read_and_cut(
    checkpoint: Path, read: Callable[[Path], object], named: dict[str, object], taken: object
) -> None:
    edit_config(checkpoint, lambda config: config.update(named), "generation_config.json")

    assert read(checkpoint / "generation_config.json") == taken


@pytest.mark.parametrize("named", [0, 19, "280", True, None])
def test_a_length_that_is_none_is_refused(checkpoint: Path, named: object) -> None:
    edit_config(checkpoint, lambda config: config.update(max_text_chars=named), "generation_config.json")

    with pytest.raises(CheckpointError, match="max_text_chars"):
        read_max_text_chars(checkpoint / "generation_config.json")


def test_a_front_end_that_nobody_knows_is_refused(checkpoint: Path) -> None:
    edit_config(checkpoint, lambda config: config.update(text_front_end="runes"), "generation_config.json")

    with pytest.raises(CheckpointError, match="should be one of words, raw"):
        read_text_front_end(checkpoint / "generation_config.json")


def test_integers_of_a_list_are_all_integers() -> None:
    fields = ConfigFields({"rates": [8, 5], "mixed": [8, "5"], "flags": [True]}, "here")

    assert fields.integers("rates") == (8, 5)
    for name in ("mixed", "flags"):
        with pytest.raises(CheckpointError, match=f"here: {name} should be a list of integers"):
            fields.integers(name)


def local(name: str) -> str:
    """How an error names the tensor: without the part's prefix, which the error gives as the source."""
    return name.removeprefix("talker.").removeprefix("code_predictor.")
