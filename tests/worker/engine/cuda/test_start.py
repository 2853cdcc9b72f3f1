"""What an engine on a GPU finds wrong before it touches the device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from worker.engine.cuda.talker.start import start_slot_lane
from worker.engine.errors import CheckpointError
from worker.engine.model.config import read_model_config
from worker.engine.settings import NativeEngineSettings


def test_heads_that_no_kernel_holds_are_refused(checkpoints: Mapping[str, Path]) -> None:
    path = checkpoints["custom_voice"]
    config = read_model_config(path / "config.json")
    predictor = replace(config.predictor, transformer=replace(config.predictor.transformer, head_dim=96))

    with pytest.raises(CheckpointError, match="code predictor's head_dim should be a power of two"):
        start_slot_lane(
            path / "model.safetensors",
            replace(config, predictor=predictor),
            256,
            NativeEngineSettings(path, device="cuda"),
            torch.device("cuda"),
        )
