"""Tests that need a CUDA device, on random weights of the published widths: not collected where there is none."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

if not torch.cuda.is_available():
    collect_ignore_glob = ["test_*.py"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        item.add_marker(pytest.mark.gpu)


@pytest.fixture(scope="session")
def talker_frame() -> ModuleType:
    """benchmarks/engine/talker_frame.py: random weights and requests."""
    path = Path(__file__).parents[2] / "benchmarks" / "engine" / "talker_frame.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module
