"""Engines over vLLM; what needs it is skipped where it is not installed, with that reason: `make vllm-test`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from worker.engine.build import build_engine
from worker.engine.interface import Engine
from worker.engine.settings import NativeEngineSettings, VllmEngineSettings

SLOTS = 8


@pytest.fixture
def start_vllm() -> Iterator[Callable[..., Engine]]:
    """(checkpoint, max_step_tokens) -> an engine, closed in the end."""
    started: list[Engine] = []

    def start(checkpoint: Path, max_step_tokens: int = 1024) -> Engine:
        settings = VllmEngineSettings(checkpoint, SLOTS, num_threads=1, max_step_tokens=max_step_tokens)
        started.append(build_engine(settings))
        return started[-1]

    yield start
    for engine in started:
        engine.close()


@pytest.fixture
def start_native() -> Iterator[Callable[[Path], Engine]]:
    started: list[Engine] = []

    def start(checkpoint: Path) -> Engine:
        started.append(build_engine(NativeEngineSettings(checkpoint, SLOTS, num_threads=1)))
        return started[-1]

    yield start
    for engine in started:
        engine.close()
