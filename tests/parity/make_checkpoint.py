"""Write a checkpoint with random weights in the published layout of Qwen3-TTS 12 Hz.

    python tests/parity/make_checkpoint.py OUT --size tiny|0.6b|1.7b --variant base|custom_voice|voice_design

The official package and our engine load the same directory, so their outputs can be compared without a download.
The two real sizes have the published names, shapes, ids and dtypes. The tiny one keeps the topology in three
megabytes of float32: 16 codebooks, 1,024 control ids above the codebook, 1,920 samples a frame, short windows.

The same arguments give the same tensors on every machine: each tensor draws from a generator keyed by its name, and
the draws are uniform, because uniform numbers need no logarithm whose last bit differs between processors.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file

VARIANTS = ("base", "custom_voice", "voice_design")
SIZES = ("tiny", "0.6b", "1.7b")

SAMPLE_RATE_HZ = 24_000
SAMPLES_PER_FRAME = 1_920
CODEBOOKS = 16
ENCODER_CODEBOOKS = 32
CONTROL_IDS = 1_024
MEL_BINS = 128

# Codec ids as offsets above the codebook (published: the codebook has 2,048 entries, so pad is 2148).
CODEC_IDS = {
    "codec_pad_id": 100,
    "codec_bos_id": 101,
    "codec_eos_token_id": 102,
    "codec_think_id": 106,
    "codec_nothink_id": 107,
    "codec_think_bos_id": 108,
    "codec_think_eos_id": 109,
}
LANGUAGES = {
    "chinese": 7,
    "english": 2,
    "german": 5,
    "italian": 22,
    "portuguese": 23,
    "spanish": 6,
    "japanese": 10,
    "korean": 16,
    "french": 13,
    "russian": 21,
}
DIALECTS = {"beijing_dialect": 26, "sichuan_dialect": 14}
SPEAKERS = {
    "serena": 1018,
    "vivian": 1017,
    "uncle_fu": 962,
    "ryan": 1013,
    "aiden": 813,
    "ono_anna": 825,
    "sohee": 816,
    "eric": 827,
    "dylan": 830,
}
SPEAKER_DIALECTS = {"eric": "sichuan_dialect", "dylan": "beijing_dialect"}

# Added tokens of the text tokenizer, as offsets above the last byte pair id (published: 151643).
TEXT_SPECIALS = {
    "<|endoftext|>": 0,
    "<|im_start|>": 1,
    "<|im_end|>": 2,
    "<|audio_start|>": 26,
    "<|audio_end|>": 27,
    "<tts_pad>": 28,
    "<tts_text_bos>": 29,
    "<tts_text_eod>": 30,
    "<tts_text_bos_single>": 31,
    "<|audio_pad|>": 32,
}
# Words that the prompt templates need as one token each.
ROLE_WORDS = ("assistant", "user", "system")
# Merges that show whether text is split into words, digits and newlines before it is merged.
MORE_MERGES = (
    "Ġ t",
    "h e",
    "Ġt he",
    "i n",
    "Ġ a",
    "o n",
    "r e",
    "e r",
    "Ġ s",
    "l l",
    "' s",
    "1 2",
    "Ċ Ċ",
    ". Ċ",
    "Ġ Ġ",
)


@dataclass(frozen=True)
class Stack:
    """Dimensions of a stack of attention layers."""

    hidden: int
    inter: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int


@dataclass(frozen=True)
class Speaker:
    """Dimensions of the speaker encoder; a published file names none of them."""

    channels: tuple[int, ...] = (512, 512, 512, 512, 1536)
    attention_channels: int = 128
    res2net_scale: int = 8
    se_channels: int = 128


@dataclass(frozen=True)
class Codec:
    """Dimensions of the speech tokenizer."""

    decoder: Stack
    decoder_window: int
    decoder_dim: int
    latent_dim: int
    codebook_dim: int
    encoder: Stack
    encoder_window: int
    encoder_filters: int
    encoder_codebook_dim: int


@dataclass(frozen=True)
class Shape:
    """Everything that tells one checkpoint's dimensions from another's."""

    name: str
    dtype: torch.dtype
    codebook_size: int
    text_vocab: int
    text_hidden: int
    last_byte_pair: int | None
    talker: Stack
    mrope_section: tuple[int, ...]
    predictor: Stack
    codec: Codec
    speaker: Speaker = field(default_factory=Speaker)
    speaker_fields_in_config: bool = False


def shape_of(size: str, variant: str) -> Shape:
    """The dimensions of one size. Raises ValueError for a size that was never published for the variant."""
    if size == "tiny":
        return tiny_shape(variant)
    if size == "0.6b" and variant == "voice_design":
        raise ValueError("voice_design is published at 1.7b only")
    name, hidden, inter = {"0.6b": ("0b6", 1024, 3072), "1.7b": ("1b7", 2048, 6144)}[size]
    return Shape(
        name=name,
        dtype=torch.bfloat16,
        codebook_size=2048,
        text_vocab=151_936,
        text_hidden=2048,
        last_byte_pair=151_643,
        talker=Stack(hidden, inter, layers=28, heads=16, kv_heads=8, head_dim=128),
        mrope_section=(24, 20, 20),
        predictor=Stack(1024, 3072, layers=5, heads=16, kv_heads=8, head_dim=128),
        codec=Codec(
            decoder=Stack(512, 1024, layers=8, heads=16, kv_heads=16, head_dim=64),
            decoder_window=72,
            decoder_dim=1536,
            latent_dim=1024,
            codebook_dim=512,
            encoder=Stack(512, 2048, layers=8, heads=8, kv_heads=8, head_dim=64),
            encoder_window=250,
            encoder_filters=64,
            encoder_codebook_dim=256,
        ),
    )


def tiny_shape(variant: str) -> Shape:
    """Base stands for 0.6B (predictor as wide as the talker, so no projection), the other two for 1.7B."""
    shape = Shape(
        name="1b7",
        dtype=torch.float32,
        codebook_size=64,
        text_vocab=336,
        text_hidden=48,
        last_byte_pair=None,
        # 32 is the narrowest attention head that the CPU kernels of other engines take.
        talker=Stack(64, 128, layers=3, heads=4, kv_heads=2, head_dim=32),
        mrope_section=(8, 4, 4),
        predictor=Stack(32, 64, layers=2, heads=4, kv_heads=2, head_dim=16),
        codec=Codec(
            decoder=Stack(32, 64, layers=2, heads=4, kv_heads=4, head_dim=16),
            decoder_window=16,
            decoder_dim=64,
            latent_dim=48,
            codebook_dim=32,
            encoder=Stack(32, 64, layers=2, heads=2, kv_heads=2, head_dim=16),
            encoder_window=20,
            encoder_filters=4,
            encoder_codebook_dim=16,
        ),
        speaker=Speaker((32, 32, 32, 32, 96), attention_channels=16, res2net_scale=8, se_channels=16),
        speaker_fields_in_config=True,
    )
    if variant == "base":
        return replace(shape, name="0b6", predictor=replace(shape.predictor, hidden=shape.talker.hidden))
    return shape


# ---------------------------------------------------------------------------------------------- text tokenizer


def byte_symbols() -> list[str]:
    """The printable stand-in of each byte in byte-level BPE, in vocabulary order."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    unprintable = [byte for byte in range(256) if byte not in printable]
    return [chr(byte) for byte in printable] + [chr(256 + n) for n in range(len(unprintable))]


def write_text_tokenizer(out: Path, last_byte_pair: int | None) -> dict[str, int]:
    """Write vocab.json, merges.txt and tokenizer_config.json; gives the ids of the special tokens and "assistant"."""
    spelled = [f"{word[:i]} {word[i]}" for word in ROLE_WORDS for i in range(1, len(word))]
    merges = list(dict.fromkeys([*spelled, *MORE_MERGES]))
    vocab = {symbol: n for n, symbol in enumerate(byte_symbols())}
    for merge in merges:
        vocab.setdefault(merge.replace(" ", ""), len(vocab))
    end = last_byte_pair or len(vocab)
    for n in range(len(vocab), end):  # no text reaches a filler: they hold the published ids in place
        vocab[f"<filler_{n}>"] = n

    specials = {token: end + offset for token, offset in TEXT_SPECIALS.items()}
    names = {n: token for token, n in specials.items()}
    added = {
        str(n): {
            "content": names.get(n, f"<|reserved_{n}|>"),
            "lstrip": False,
            "normalized": False,
            "rstrip": False,
            "single_word": False,
            "special": True,
        }
        for n in range(end, max(specials.values()) + 1)
    }
    write_json(out / "vocab.json", vocab)
    (out / "merges.txt").write_text("#version: 0.2\n" + "\n".join(merges) + "\n", encoding="utf-8")
    write_json(
        out / "tokenizer_config.json",
        {
            "add_prefix_space": False,
            "added_tokens_decoder": added,
            "bos_token": None,
            "clean_up_tokenization_spaces": False,
            "eos_token": "<|im_end|>",
            "errors": "replace",
            "model_max_length": 131_072,
            "pad_token": "<|endoftext|>",
            "split_special_tokens": False,
            "tokenizer_class": "Qwen2Tokenizer",
            "unk_token": None,
        },
    )
    return {**specials, "assistant": vocab["assistant"]}


# ---------------------------------------------------------------------------------------------- configuration


def stack_config(stack: Stack, max_positions: int) -> dict[str, Any]:
    return {
        "attention_bias": False,
        "attention_dropout": 0,
        "head_dim": stack.head_dim,
        "hidden_act": "silu",
        "hidden_size": stack.hidden,
        "initializer_range": 0.02,
        "intermediate_size": stack.inter,
        "max_position_embeddings": max_positions,
        "num_attention_heads": stack.heads,
        "num_hidden_layers": stack.layers,
        "num_key_value_heads": stack.kv_heads,
        "rms_norm_eps": 1e-6,
        "rope_theta": 1_000_000,
        "sliding_window": None,
        "use_cache": True,
        "use_sliding_window": False,
    }


def talker_config(shape: Shape, variant: str) -> dict[str, Any]:
    codebook = shape.codebook_size
    has_speakers = variant == "custom_voice"
    languages = {**LANGUAGES, **DIALECTS} if has_speakers else LANGUAGES
    speakers = SPEAKERS if has_speakers else {}
    return {
        **stack_config(shape.talker, 32_768),
        **{name: codebook + offset for name, offset in CODEC_IDS.items()},
        "model_type": "qwen3_tts_talker",
        "vocab_size": codebook + CONTROL_IDS,
        "text_vocab_size": shape.text_vocab,
        "text_hidden_size": shape.text_hidden,
        "num_code_groups": CODEBOOKS,
        "position_id_per_seconds": 13,
        "rope_scaling": {
            "interleaved": True,
            "mrope_section": list(shape.mrope_section),
            "rope_type": "default",
            "type": "default",
        },
        "codec_language_id": {name: codebook + offset for name, offset in languages.items()},
        "spk_id": {name: codebook + offset for name, offset in speakers.items()},
        "spk_is_dialect": {name: SPEAKER_DIALECTS.get(name, False) for name in speakers},
        "code_predictor_config": {
            **stack_config(shape.predictor, 65_536),
            "model_type": "qwen3_tts_talker_code_predictor",
            "vocab_size": codebook,
            "num_code_groups": CODEBOOKS,
            "rope_scaling": None,
            "layer_types": ["full_attention"] * shape.predictor.layers,
        },
    }


def model_config(shape: Shape, variant: str, text_ids: Mapping[str, int]) -> dict[str, Any]:
    config: dict[str, Any] = {
        "architectures": ["Qwen3TTSForConditionalGeneration"],
        "model_type": "qwen3_tts",
        "tokenizer_type": "qwen3_tts_tokenizer_12hz",
        "tts_model_size": shape.name,
        "tts_model_type": variant,
        "assistant_token_id": text_ids["assistant"],
        "im_start_token_id": text_ids["<|im_start|>"],
        "im_end_token_id": text_ids["<|im_end|>"],
        "tts_pad_token_id": text_ids["<tts_pad>"],
        "tts_bos_token_id": text_ids["<tts_text_bos>"],
        "tts_eos_token_id": text_ids["<tts_text_eod>"],
        "talker_config": talker_config(shape, variant),
    }
    if variant == "base":
        config["speaker_encoder_config"] = {"enc_dim": shape.talker.hidden, "sample_rate": SAMPLE_RATE_HZ}
        if shape.speaker_fields_in_config:
            config["speaker_encoder_config"] |= {
                "enc_channels": list(shape.speaker.channels),
                "enc_attention_channels": shape.speaker.attention_channels,
                "enc_res2net_scale": shape.speaker.res2net_scale,
                "enc_se_channels": shape.speaker.se_channels,
            }
    return config


def codec_config(shape: Shape) -> dict[str, Any]:
    codec = shape.codec
    return {
        "architectures": ["Qwen3TTSTokenizerV2Model"],
        "model_type": "qwen3_tts_tokenizer_12hz",
        "encoder_valid_num_quantizers": CODEBOOKS,
        "input_sample_rate": SAMPLE_RATE_HZ,
        "output_sample_rate": SAMPLE_RATE_HZ,
        "decode_upsample_rate": SAMPLES_PER_FRAME,
        "encode_downsample_rate": SAMPLES_PER_FRAME,
        "decoder_config": {
            "attention_bias": False,
            "attention_dropout": 0.0,
            "latent_dim": codec.latent_dim,
            "codebook_dim": codec.codebook_dim,
            "codebook_size": shape.codebook_size,
            "decoder_dim": codec.decoder_dim,
            "hidden_act": "silu",
            "hidden_size": codec.decoder.hidden,
            "intermediate_size": codec.decoder.inter,
            "layer_scale_initial_scale": 0.01,
            "max_position_embeddings": 8000,
            "head_dim": codec.decoder.head_dim,
            "num_attention_heads": codec.decoder.heads,
            "num_hidden_layers": codec.decoder.layers,
            "num_key_value_heads": codec.decoder.kv_heads,
            "num_quantizers": CODEBOOKS,
            "num_semantic_quantizers": 1,
            "rms_norm_eps": 1e-5,
            "rope_theta": 10_000,
            "semantic_codebook_size": 2 * shape.codebook_size,  # published, and describes nothing in the weights
            "sliding_window": codec.decoder_window,
            "upsample_rates": [8, 5, 4, 3],
            "upsampling_ratios": [2, 2],
        },
        "encoder_config": {
            "_frame_rate": 12.5,
            "audio_channels": 1,
            "codebook_dim": codec.encoder_codebook_dim,
            "codebook_size": shape.codebook_size,
            "compress": 2,
            "dilation_growth_rate": 2,
            "dtype": "float32",
            "head_dim": codec.encoder.head_dim,
            "hidden_act": "gelu",
            "hidden_size": codec.encoder.hidden,
            "intermediate_size": codec.encoder.inter,
            "kernel_size": 7,
            "last_kernel_size": 3,
            "layer_scale_initial_scale": 0.01,
            "max_position_embeddings": 8000,
            "norm_eps": 1e-5,
            "num_attention_heads": codec.encoder.heads,
            "num_filters": codec.encoder_filters,
            "num_hidden_layers": codec.encoder.layers,
            "num_key_value_heads": codec.encoder.kv_heads,
            "num_quantizers": ENCODER_CODEBOOKS,
            "num_residual_layers": 1,
            "num_semantic_quantizers": 1,
            "pad_mode": "constant",
            "residual_kernel_size": 3,
            "rope_theta": 10_000.0,
            "sampling_rate": SAMPLE_RATE_HZ,
            "sliding_window": codec.encoder_window,
            "trim_right_ratio": 1.0,
            "upsample_groups": codec.encoder.hidden,
            "upsampling_ratios": [8, 6, 5, 4],
            "use_cache": False,
            "use_causal_conv": True,
            "use_conv_shortcut": False,
            "use_streaming": False,
            "vector_quantization_hidden_dimension": codec.encoder_codebook_dim,
        },
    }


GENERATION = {
    "do_sample": True,
    "repetition_penalty": 1.05,
    "temperature": 0.9,
    "top_p": 1.0,
    "top_k": 50,
    "subtalker_dosample": True,
    "subtalker_temperature": 0.9,
    "subtalker_top_p": 1.0,
    "subtalker_top_k": 50,
    "max_new_tokens": 8192,
}
TEXT_PROCESSOR = {
    "padding_side": "left",
    "padding_value": 0.0,
    "processor_class": "Qwen3TTSProcessor",
    "return_attention_mask": True,
}
AUDIO_PROCESSOR = {
    "chunk_length_s": None,
    "feature_extractor_type": "EncodecFeatureExtractor",
    "feature_size": 1,
    "overlap": None,
    "padding_side": "right",
    "padding_value": 0.0,
    "return_attention_mask": True,
    "sampling_rate": SAMPLE_RATE_HZ,
}
CODEC_FRAMEWORK = {"framework": "pytorch", "task": "feature-extraction", "allow_remote": True}


# ---------------------------------------------------------------------------------------------- weights


class Weights:
    """Named tensors under construction; `tensors` is what goes to the file."""

    def __init__(self, seed: int, dtype: torch.dtype) -> None:
        self.tensors: dict[str, torch.Tensor] = {}
        self._seed = seed
        self._dtype = dtype

    def spread(self, name: str, *shape: int, std: float = 1.0, mean: float = 0.0) -> None:
        """Uniform numbers of the given mean and standard deviation."""
        drawn = self._generator(name).random(shape, dtype=np.float32)
        width = np.float32(math.sqrt(12.0) * std)
        self.tensors[name] = torch.from_numpy((drawn - np.float32(0.5)) * width + np.float32(mean)).to(self._dtype)

    def linear(self, name: str, outputs: int, *inputs: int, gain: float = 1.0) -> None:
        """A linear or convolution weight that keeps its input's variance, times gain squared."""
        self.spread(f"{name}.weight", outputs, *inputs, std=gain / math.sqrt(math.prod(inputs)))

    def bias(self, name: str, dim: int) -> None:
        self.spread(f"{name}.bias", dim, std=0.02)

    def affine(self, name: str, outputs: int, *inputs: int, gain: float = 1.0) -> None:
        self.linear(name, outputs, *inputs, gain=gain)
        self.bias(name, outputs)

    def transposed(self, name: str, inputs: int, outputs: int, kernel: int, stride: int) -> None:
        """A transposed convolution; kernel / stride taps meet in each output."""
        self.spread(f"{name}.weight", inputs, outputs, kernel, std=1 / math.sqrt(inputs * kernel / stride))
        self.bias(name, outputs)

    def norm(self, name: str, dim: int) -> None:
        self.spread(f"{name}.weight", dim, mean=1.0, std=0.1)

    def codebook(self, name: str, total: str, size: int, dim: int) -> None:
        """A codebook as the file keeps it: moving sums and moving counts, the entry is their quotient."""
        self.spread(f"{name}.cluster_usage", size, mean=1.0, std=0.25)
        self.spread(f"{name}.{total}", size, dim)
        self.tensors[f"{name}.{total}"] *= self.tensors[f"{name}.cluster_usage"][:, None]

    def snake(self, name: str, dim: int) -> None:
        self.spread(f"{name}.alpha", dim, std=0.3)
        self.spread(f"{name}.beta", dim, std=0.3)

    def write(self, path: Path) -> None:
        save_file({name: t.contiguous() for name, t in self.tensors.items()}, path, metadata={"format": "pt"})

    def _generator(self, name: str) -> np.random.Generator:
        return np.random.Generator(np.random.PCG64([zlib.crc32(name.encode()), self._seed]))


def attention_layers(w: Weights, prefix: str, stack: Stack) -> None:
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


def query_key_norms(w: Weights, prefix: str, stack: Stack) -> None:
    for layer in (f"{prefix}.{i}" for i in range(stack.layers)):
        w.norm(f"{layer}.self_attn.q_norm", stack.head_dim)
        w.norm(f"{layer}.self_attn.k_norm", stack.head_dim)


def layer_scales(w: Weights, prefix: str, stack: Stack) -> None:
    # Far above the published 0.01, so that a mistake inside a layer is heard at the output.
    for layer in (f"{prefix}.{i}" for i in range(stack.layers)):
        w.spread(f"{layer}.self_attn_layer_scale.scale", stack.hidden, mean=0.5, std=0.1)
        w.spread(f"{layer}.mlp_layer_scale.scale", stack.hidden, mean=0.5, std=0.1)


def talker_weights(shape: Shape, variant: str, seed: int, eos_gain: float) -> Weights:
    w = Weights(seed, shape.dtype)
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
    w.tensors["talker.codec_head.weight"][shape.codebook_size + CODEC_IDS["codec_eos_token_id"]] *= eos_gain
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


def speaker_encoder_weights(w: Weights, speaker: Speaker, outputs: int) -> None:
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


def codec_weights(shape: Shape, seed: int) -> Weights:
    w = Weights(seed, torch.float32)
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


# ---------------------------------------------------------------------------------------------- the directory


def make_checkpoint(out: Path, size: str = "tiny", variant: str = "base", seed: int = 0, eos_gain: float = 1.0) -> str:
    """Write the directory; gives a digest of its weights, equal wherever the tensors are equal.

    eos_gain scales the end-of-speech row of the codec head: larger values end utterances sooner.
    Raises ValueError for a size that the variant does not have.
    """
    shape = shape_of(size, variant)
    codec_dir = out / "speech_tokenizer"
    codec_dir.mkdir(parents=True, exist_ok=True)
    text_ids = write_text_tokenizer(out, shape.last_byte_pair)
    write_json(out / "config.json", model_config(shape, variant, text_ids))
    write_json(out / "generation_config.json", GENERATION)
    write_json(out / "preprocessor_config.json", TEXT_PROCESSOR)
    write_json(codec_dir / "config.json", codec_config(shape))
    write_json(codec_dir / "configuration.json", CODEC_FRAMEWORK)
    write_json(codec_dir / "preprocessor_config.json", AUDIO_PROCESSOR)
    model, codec = talker_weights(shape, variant, seed, eos_gain), codec_weights(shape, seed)
    model.write(out / "model.safetensors")
    codec.write(codec_dir / "model.safetensors")
    return digest_of(model.tensors, codec.tensors)


def digest_of(*groups: Mapping[str, torch.Tensor]) -> str:
    """SHA-256 over names and bytes, independent of how a file orders them."""
    digest = hashlib.sha256()
    for group in groups:
        for name in sorted(group):
            digest.update(name.encode())
            digest.update(group[name].contiguous().view(torch.uint8).numpy().data)
    return digest.hexdigest()


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description="Write a random checkpoint in the published layout.")
    parser.add_argument("out", type=Path)
    parser.add_argument("--size", choices=SIZES, default="tiny")
    parser.add_argument("--variant", choices=VARIANTS, default="base")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--eos-gain", type=float, default=1.0)
    arguments = parser.parse_args()
    make_checkpoint(arguments.out, arguments.size, arguments.variant, arguments.seed, arguments.eos_gain)


if __name__ == "__main__":
    main()
