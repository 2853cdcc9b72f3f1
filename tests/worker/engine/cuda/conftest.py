"""Kernels run on the GPU where there is one, and in Triton's interpreter on the CPU where there is none."""

from __future__ import annotations

import importlib.util
import os

import pytest
import torch

# Triton's interpreter comes with Triton, which is made for Linux alone.
HAS_TRITON = importlib.util.find_spec("triton") is not None
collect_ignore_glob = [] if HAS_TRITON else ["*"]

if HAS_TRITON and not torch.cuda.is_available():
    # Triton decides at its own import, which this folder is the first to cause.
    os.environ["TRITON_INTERPRET"] = "1"
    from tests.worker.engine.cuda.fast_interpreter import patch_once_a_launch

    patch_once_a_launch()


@pytest.fixture
def device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


@pytest.fixture
def random(device: torch.device) -> torch.Generator:
    generator = torch.Generator(device)
    generator.manual_seed(7)
    return generator
