"""The configuration files of a checkpoint of given dimensions."""

from __future__ import annotations

from collections.abc import Mapping
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


def stack_config(stack: StackShape, max_positions: int) -> dict[str, Any]:
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
