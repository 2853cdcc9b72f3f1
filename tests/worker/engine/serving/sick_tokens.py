"""A checkpoint that computes numbers that are not finite, for one word only."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors.torch import load_file, save_file


def make_token_sick(checkpoint: Path, token_id: int) -> None:
    """Every prompt with this token is spoiled, every other one as before."""
    path = checkpoint / "model.safetensors"
    tensors = load_file(path)
    tensors["talker.model.text_embedding.weight"][token_id] = torch.nan
    save_file(tensors, path)
