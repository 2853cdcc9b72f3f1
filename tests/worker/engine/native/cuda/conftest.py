"""Kernels run on the GPU where there is one, and in Triton's interpreter on the CPU where there is none."""

from __future__ import annotations

import importlib.util
import os

import pytest
import torch

# Triton decides at its own import, which the test modules of this folder are the first to cause.
if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"


# Triton's interpreter comes with Triton, which is made for Linux alone.
collect_ignore_glob = [] if importlib.util.find_spec("triton") else ["*"]


@pytest.fixture
def device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


@pytest.fixture
def random(device: torch.device) -> torch.Generator:
    generator = torch.Generator(device)
    generator.manual_seed(7)
    return generator
