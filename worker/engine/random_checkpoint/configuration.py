"""The configuration files of a checkpoint of given dimensions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from worker.engine.random_checkpoint.shapes import (
    CODEBOOKS,
    CONTROL_IDS,
    ENCODER_CODEBOOKS,
    SAMPLE_RATE_HZ,
    SAMPLES_PER_FRAME,
    Shape,
    StackShape,
)

PUBLISHED: dict[str, Any] = json.loads(Path(__file__).with_name("published.json").read_text(encoding="utf-8"))
"""What is the same in checkpoints of all dimensions.

codec_ids, languages, dialects, speakers: offsets above the codebook. It has 2,048 entries as published, so pad is 2148.
text_specials: offsets above the last byte pair (published: 151643). merges: those that show whether text is split into
words, digits and newlines before it is merged.
"""


def stack_config(stack: StackShape, max_positions: int) -> dict[str, Any]:
    return {**PUBLISHED["stack"], **_dimensions(stack), "max_position_embeddings": max_positions}


def _dimensions(stack: StackShape) -> dict[str, int]:
    return {
        "head_dim": stack.head_dim,
        "hidden_size": stack.hidden,
        "intermediate_size": stack.inter,
        "num_attention_heads": stack.heads,
        "num_hidden_layers": stack.layers,
        "num_key_value_heads": stack.kv_heads,
    }


def talker_config(shape: Shape, variant: str) -> dict[str, Any]:
    codebook = shape.codebook_size
    has_speakers = variant == "custom_voice"
    languages = {**PUBLISHED["languages"], **(PUBLISHED["dialects"] if has_speakers else {})}
    speakers = PUBLISHED["speakers"] if has_speakers else {}
    return {
        **stack_config(shape.talker, 32_768),
        **{name: codebook + offset for name, offset in PUBLISHED["codec_ids"].items()},
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
        "spk_is_dialect": {name: PUBLISHED["speaker_dialects"].get(name, False) for name in speakers},
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
            **PUBLISHED["decoder"],
            **_dimensions(codec.decoder),
            "latent_dim": codec.latent_dim,
            "codebook_dim": codec.codebook_dim,
            "codebook_size": shape.codebook_size,
            "decoder_dim": codec.decoder_dim,
            "num_quantizers": CODEBOOKS,
            "semantic_codebook_size": 2 * shape.codebook_size,  # published, and describes nothing in the weights
            "sliding_window": codec.decoder_window,
        },
        "encoder_config": {
            **PUBLISHED["encoder"],
            **_dimensions(codec.encoder),
            "codebook_dim": codec.encoder_codebook_dim,
            "codebook_size": shape.codebook_size,
            "num_filters": codec.encoder_filters,
            "num_quantizers": ENCODER_CODEBOOKS,
            "sampling_rate": SAMPLE_RATE_HZ,
            "sliding_window": codec.encoder_window,
            "upsample_groups": codec.encoder.hidden,
            "vector_quantization_hidden_dimension": codec.encoder_codebook_dim,
        },
    }
