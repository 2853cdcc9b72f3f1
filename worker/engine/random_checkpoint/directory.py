"""A checkpoint with random weights in the published layout of Qwen3-TTS 12 Hz.

The official package and our engine load the same directory, so their outputs can be compared without a download, and
a GPU can be measured without one. Names, shapes, ids and dtypes are the published ones.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from worker.engine.random_checkpoint.codec_weights import codec_weights
from worker.engine.random_checkpoint.configuration import PUBLISHED, codec_config, model_config
from worker.engine.random_checkpoint.layers import attention_layers
from worker.engine.random_checkpoint.shapes import (
    CODEBOOKS,
    CONTROL_IDS,
    MEL_BINS,
    Shape,
    SpeakerShape,
    StackShape,
    shape_of,
)
from worker.engine.random_checkpoint.weights import DeviceDraws, Draws, Weights

Tensors = Mapping[str, torch.Tensor]


def draw_checkpoint(out: Path, size: str, variant: str, device: torch.device, eos_gain: float) -> None:
    """Write the directory of a published size with numbers that the device draws.

    eos_gain scales the end-of-speech row of the codec head: larger values end utterances sooner, 0 never.
    Raises ValueError for a size that the variant does not have.
    """
    write_checkpoint(out, shape_of(size, variant), variant, DeviceDraws(device), eos_gain)
    if device.type == "cuda":
        # An engine plans its slots from what is free.
        torch.cuda.empty_cache()


def write_checkpoint(out: Path, shape: Shape, variant: str, draws: Draws, eos_gain: float) -> tuple[Tensors, Tensors]:
    """Gives the tensors of the model and of the speech tokenizer."""
    codec_dir = out / "speech_tokenizer"
    codec_dir.mkdir(parents=True, exist_ok=True)
    text_ids = write_text_tokenizer(out, shape.last_byte_pair)
    write_json(out / "config.json", model_config(shape, variant, text_ids))
    write_json(out / "generation_config.json", PUBLISHED["generation"])
    write_json(out / "preprocessor_config.json", PUBLISHED["text_processor"])
    write_json(codec_dir / "config.json", codec_config(shape))
    write_json(codec_dir / "configuration.json", PUBLISHED["codec_framework"])
    write_json(codec_dir / "preprocessor_config.json", PUBLISHED["audio_processor"])
    model, codec = talker_weights(shape, variant, draws, eos_gain), codec_weights(shape, draws)
    model.write(out / "model.safetensors")
    codec.write(codec_dir / "model.safetensors")
    return model.tensors, codec.tensors


def query_key_norms(w: Weights, prefix: str, stack: StackShape) -> None:
    for layer in (f"{prefix}.{i}" for i in range(stack.layers)):
        w.norm(f"{layer}.self_attn.q_norm", stack.head_dim)
        w.norm(f"{layer}.self_attn.k_norm", stack.head_dim)


def talker_weights(shape: Shape, variant: str, draws: Draws, eos_gain: float) -> Weights:
    w = Weights(draws, shape.dtype)
    hidden, codec_rows = shape.talker.hidden, shape.codebook_size + CONTROL_IDS
    attention_layers(w, "talker.model.layers", shape.talker)
    query_key_norms(w, "talker.model.layers", shape.talker)
    w.norm("talker.model.norm", hidden)
    w.spread("talker.model.codec_embedding.weight", codec_rows, hidden, std=0.5)
    w.spread("talker.model.text_embedding.weight", shape.text_vocab, shape.text_hidden)
    w.affine("talker.text_projection.linear_fc1", shape.text_hidden, shape.text_hidden)
    w.affine("talker.text_projection.linear_fc2", hidden, shape.text_hidden)
    # A gain of 3 spreads the logits further than rounding can reorder them.
    w.linear("talker.codec_head", codec_rows, hidden, gain=3.0)
    w.tensors["talker.codec_head.weight"][shape.codebook_size + PUBLISHED["codec_ids"]["codec_eos_token_id"]] *= (
        eos_gain
    )
    predictor_weights(w, shape)
    if variant == "base":
        speaker_encoder_weights(w, shape.speaker, hidden)
    return w


def predictor_weights(w: Weights, shape: Shape) -> None:
    predictor, prefix = shape.predictor, "talker.code_predictor"
    attention_layers(w, f"{prefix}.model.layers", predictor)
    query_key_norms(w, f"{prefix}.model.layers", predictor)
    w.norm(f"{prefix}.model.norm", predictor.hidden)
    for i in range(CODEBOOKS - 1):
        w.spread(f"{prefix}.model.codec_embedding.{i}.weight", shape.codebook_size, shape.talker.hidden, std=0.5)
        w.linear(f"{prefix}.lm_head.{i}", shape.codebook_size, predictor.hidden, gain=3.0)
    if predictor.hidden != shape.talker.hidden:
        w.affine(f"{prefix}.small_to_mtp_projection", predictor.hidden, shape.talker.hidden)


def speaker_encoder_weights(w: Weights, speaker: SpeakerShape, outputs: int) -> None:
    channels, scale, relu = speaker.channels, speaker.res2net_scale, math.sqrt(2)
    w.affine("speaker_encoder.blocks.0.conv", channels[0], MEL_BINS, 5, gain=relu / 4)  # log mel is about 4 wide
    for i in (1, 2, 3):
        block, part = f"speaker_encoder.blocks.{i}", channels[i] // scale
        w.affine(f"{block}.tdnn1.conv", channels[i], channels[i - 1], 1, gain=relu)
        for j in range(scale - 1):
            w.affine(f"{block}.res2net_block.blocks.{j}.conv", part, part, 3)
        w.affine(f"{block}.tdnn2.conv", channels[i], channels[i], 1, gain=relu)
        w.affine(f"{block}.se_block.conv1", speaker.se_channels, channels[i], 1, gain=relu)
        w.affine(f"{block}.se_block.conv2", channels[i], speaker.se_channels, 1)
    pooled = channels[4]
    w.affine("speaker_encoder.mfa.conv", pooled, pooled, 1, gain=relu)
    w.affine("speaker_encoder.asp.tdnn.conv", speaker.attention_channels, 3 * pooled, 1)
    w.affine("speaker_encoder.asp.conv", pooled, speaker.attention_channels, 1)
    w.affine("speaker_encoder.fc", outputs, 2 * pooled, 1, gain=0.5)


# Words that the prompt templates need as one token each.
ROLE_WORDS = ("assistant", "user", "system")


def byte_symbols() -> list[str]:
    """The printable stand-in of each byte in byte-level BPE, in vocabulary order."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    unprintable = [byte for byte in range(256) if byte not in printable]
    return [chr(byte) for byte in printable] + [chr(256 + n) for n in range(len(unprintable))]


def write_text_tokenizer(out: Path, last_byte_pair: int | None) -> dict[str, int]:
    """Write vocab.json, merges.txt and tokenizer_config.json; gives the ids of the special tokens and "assistant"."""
    spelled = [f"{word[:i]} {word[i]}" for word in ROLE_WORDS for i in range(1, len(word))]
    merges = list(dict.fromkeys([*spelled, *PUBLISHED["merges"]]))
    vocab = {symbol: n for n, symbol in enumerate(byte_symbols())}
    for merge in merges:
        vocab.setdefault(merge.replace(" ", ""), len(vocab))
    end = last_byte_pair or len(vocab)
    for n in range(len(vocab), end):  # no text reaches a filler: they hold the published ids in place
        vocab[f"<filler_{n}>"] = n

    specials = {token: end + offset for token, offset in PUBLISHED["text_specials"].items()}
    names = {n: token for token, n in specials.items()}
    added = {
        str(n): {**PUBLISHED["added_token"], "content": names.get(n, f"<|reserved_{n}|>")}
        for n in range(end, max(specials.values()) + 1)
    }
    write_json(out / "vocab.json", vocab)
    (out / "merges.txt").write_text("#version: 0.2\n" + "\n".join(merges) + "\n", encoding="utf-8")
    write_json(out / "tokenizer_config.json", {**PUBLISHED["text_tokenizer"], "added_tokens_decoder": added})
    return {**specials, "assistant": vocab["assistant"]}


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
