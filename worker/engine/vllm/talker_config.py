"""The talker's layers as transformers describes a Qwen3 model, which is what they are."""

# transformers comes with vLLM, which lives in an environment of its own.
# pyright: reportMissingImports=false, reportUnknownParameterType=false

from __future__ import annotations

from pathlib import Path

from transformers import Qwen3Config

from worker.engine.model.config import read_model_config


def layers_config(checkpoint: Path, architecture: str) -> Qwen3Config:
    """Raises CheckpointError as `read_model_config` does. The vocabulary is the caller's business."""
    talker = read_model_config(checkpoint / "config.json").talker
    decoder = talker.decoder
    return Qwen3Config(
        architectures=[architecture],
        hidden_size=decoder.hidden_size,
        intermediate_size=decoder.intermediate_size,
        num_hidden_layers=decoder.num_layers,
        num_attention_heads=decoder.num_heads,
        num_key_value_heads=decoder.num_kv_heads,
        head_dim=decoder.head_dim,
        rms_norm_eps=decoder.rms_norm_eps,
        rope_parameters={"rope_type": "default", "rope_theta": decoder.rope_theta},
        max_position_embeddings=talker.max_positions,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=None,
        pad_token_id=None,
    )
