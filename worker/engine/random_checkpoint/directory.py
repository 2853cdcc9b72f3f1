"""A checkpoint with random weights in the published layout of Qwen3-TTS 12 Hz.

The official package and our engine load the same directory, so their outputs can be compared without a download, and
a GPU can be measured without one. Names, shapes, ids and dtypes are the published ones.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch

from worker.engine.random_checkpoint.configuration import PUBLISHED, codec_config, model_config
from worker.engine.random_checkpoint.shapes import (
    CODEBOOKS,
    CONTROL_IDS,
    ENCODER_CODEBOOKS,
    MEL_BINS,
    Codec,
    Shape,
    SpeakerShape,
    StackShape,
    shape_of,
)
from worker.engine.random_checkpoint.weights import Draws, Weights, drawn_on

Tensors = Mapping[str, torch.Tensor]


def draw_checkpoint(out: Path, size: str, variant: str, device: torch.device, eos_gain: float) -> None:
    """Write the directory of a published size with numbers that the device draws.

    eos_gain scales the end-of-speech row of the codec head: larger values end utterances sooner, 0 never.
    Raises ValueError for a size that the variant does not have.
    """
    write_checkpoint(out, shape_of(size, variant), variant, partial(drawn_on, device), eos_gain)
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


def codec_weights(shape: Shape, draws: Draws) -> Weights:
    w = Weights(draws, torch.float32)
    decoder_quantizer_weights(w, shape)
    decoder_weights(w, shape.codec)
    encoder_weights(w, shape.codec)
    encoder_quantizer_weights(w, shape)
    return w


def decoder_quantizer_weights(w: Weights, shape: Shape) -> None:
    dim, vector = shape.codec.codebook_dim, shape.codec.codebook_dim // 2
    for part, layers in (("rvq_first", 1), ("rvq_rest", CODEBOOKS - 1)):
        prefix = f"decoder.quantizer.{part}"
        w.linear(f"{prefix}.input_proj", vector, dim, 1)
        w.linear(f"{prefix}.output_proj", dim, vector, 1, gain=1 / math.sqrt(2 * layers))
        for i in range(layers):
            w.codebook(f"{prefix}.vq.layers.{i}._codebook", "embedding_sum", shape.codebook_size, vector)


def decoder_weights(w: Weights, codec: Codec) -> None:
    stack, latent = codec.decoder, codec.latent_dim
    w.affine("decoder.pre_conv.conv", latent, codec.codebook_dim, 3)
    w.affine("decoder.pre_transformer.input_proj", stack.hidden, latent)
    attention_layers(w, "decoder.pre_transformer.layers", stack)
    layer_scales(w, "decoder.pre_transformer.layers", stack)
    w.norm("decoder.pre_transformer.norm", stack.hidden)
    w.affine("decoder.pre_transformer.output_proj", latent, stack.hidden)
    for prefix in ("decoder.upsample.0", "decoder.upsample.1"):
        w.transposed(f"{prefix}.0.conv", latent, latent, 2, 2)
        w.affine(f"{prefix}.1.dwconv.conv", latent, 1, 7)
        w.norm(f"{prefix}.1.norm", latent)
        w.bias(f"{prefix}.1.norm", latent)
        w.affine(f"{prefix}.1.pwconv1", 4 * latent, latent)
        w.affine(f"{prefix}.1.pwconv2", latent, 4 * latent)
        w.spread(f"{prefix}.1.gamma", latent, mean=0.5, std=0.1)
    w.affine("decoder.decoder.0.conv", codec.decoder_dim, latent, 7)
    for i, rate in enumerate((8, 5, 4, 3)):
        prefix, wide, narrow = f"decoder.decoder.{i + 1}.block", codec.decoder_dim >> i, codec.decoder_dim >> (i + 1)
        w.snake(f"{prefix}.0", wide)
        w.transposed(f"{prefix}.1.conv", wide, narrow, 2 * rate, rate)
        for j in (2, 3, 4):
            w.snake(f"{prefix}.{j}.act1", narrow)
            w.affine(f"{prefix}.{j}.conv1.conv", narrow, narrow, 7, gain=0.5)
            w.snake(f"{prefix}.{j}.act2", narrow)
            w.affine(f"{prefix}.{j}.conv2.conv", narrow, narrow, 1, gain=0.5)
    w.snake("decoder.decoder.5", codec.decoder_dim >> 4)
    w.affine("decoder.decoder.6.conv", 1, codec.decoder_dim >> 4, 7, gain=0.05)


def encoder_weights(w: Weights, codec: Codec) -> None:
    stack, filters, prefix = codec.encoder, codec.encoder_filters, "encoder.encoder.layers"
    w.affine(f"{prefix}.0.conv", filters, 1, 7, gain=4.0)
    for i, ratio in enumerate((4, 5, 6, 8)):
        dim, first = filters << i, 3 * i + 1
        w.affine(f"{prefix}.{first}.block.1.conv", dim // 2, dim, 3)
        w.affine(f"{prefix}.{first}.block.3.conv", dim, dim // 2, 1)
        w.affine(f"{prefix}.{first + 2}.conv", 2 * dim, dim, 2 * ratio)
    w.affine(f"{prefix}.14.conv", stack.hidden, filters << 4, 3)
    for layer in (f"encoder.encoder_transformer.layers.{i}" for i in range(stack.layers)):
        for projection in ("q_proj", "k_proj", "v_proj", "o_proj"):
            w.linear(f"{layer}.self_attn.{projection}", stack.hidden, stack.hidden)
        w.linear(f"{layer}.mlp.fc1", stack.inter, stack.hidden)
        w.linear(f"{layer}.mlp.fc2", stack.hidden, stack.inter)
        for norm in ("input_layernorm", "post_attention_layernorm"):
            w.norm(f"{layer}.{norm}", stack.hidden)
            w.bias(f"{layer}.{norm}", stack.hidden)
    layer_scales(w, "encoder.encoder_transformer.layers", stack)
    w.linear("encoder.downsample.conv", stack.hidden, stack.hidden, 4)


def encoder_quantizer_weights(w: Weights, shape: Shape) -> None:
    hidden, vector = shape.codec.encoder.hidden, shape.codec.encoder_codebook_dim
    for part, layers in (("semantic", 1), ("acoustic", ENCODER_CODEBOOKS - 1)):
        prefix = f"encoder.quantizer.{part}_residual_vector_quantizer"
        w.linear(f"{prefix}.input_proj", vector, hidden, 1)
        w.linear(f"{prefix}.output_proj", hidden, vector, 1)
        for i in range(layers):
            w.codebook(f"{prefix}.layers.{i}.codebook", "embed_sum", shape.codebook_size, vector)
            w.tensors[f"{prefix}.layers.{i}.codebook.initialized"] = torch.ones(1)


def layer_scales(w: Weights, prefix: str, stack: StackShape) -> None:
    # Far above the published 0.01, so that a mistake inside a layer changes the output.
    for layer in (f"{prefix}.{i}" for i in range(stack.layers)):
        w.spread(f"{layer}.self_attn_layer_scale.scale", stack.hidden, mean=0.5, std=0.1)
        w.spread(f"{layer}.mlp_layer_scale.scale", stack.hidden, mean=0.5, std=0.1)


def attention_layers(w: Weights, prefix: str, stack: StackShape) -> None:
    """The names that talker, predictor and codec decoder share."""
    queries, keys = stack.heads * stack.head_dim, stack.kv_heads * stack.head_dim
    for layer in (f"{prefix}.{i}" for i in range(stack.layers)):
        w.linear(f"{layer}.self_attn.q_proj", queries, stack.hidden)
        w.linear(f"{layer}.self_attn.k_proj", keys, stack.hidden)
        w.linear(f"{layer}.self_attn.v_proj", keys, stack.hidden)
        w.linear(f"{layer}.self_attn.o_proj", stack.hidden, queries)
        w.linear(f"{layer}.mlp.gate_proj", stack.inter, stack.hidden)
        w.linear(f"{layer}.mlp.up_proj", stack.inter, stack.hidden)
        w.linear(f"{layer}.mlp.down_proj", stack.hidden, stack.inter)
        w.norm(f"{layer}.input_layernorm", stack.hidden)
        w.norm(f"{layer}.post_attention_layernorm", stack.hidden)
