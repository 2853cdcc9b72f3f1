"""The talker's layers as transformers describes a Qwen3 model, which is what they are."""

# transformers comes with vLLM, which is installed in a separate environment.
# pyright: reportMissingImports=false, reportUnknownParameterType=false

from __future__ import annotations

from pathlib import Path

from transformers import Qwen3Config

from worker.engine.model.config import read_model_config


def layers_config(checkpoint: Path, architecture: str) -> Qwen3Config:
    """Raises CheckpointError as `read_model_config` does. The vocabulary is the caller's business."""
    talker = read_model_config(checkpoint / "config.json").talker
    transformer = talker.transformer
    return Qwen3Config(
        architectures=[architecture],
        hidden_size=transformer.hidden_size,
        intermediate_size=transformer.intermediate_size,
        num_hidden_layers=transformer.num_layers,
        num_attention_heads=transformer.num_heads,
        num_key_value_heads=transformer.num_kv_heads,
        head_dim=transformer.head_dim,
        rms_norm_eps=transformer.rms_norm_eps,
        rope_parameters={"rope_type": "default", "rope_theta": transformer.rope_theta},
        max_position_embeddings=talker.max_positions,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=None,
        pad_token_id=None,
    )
