"""Engines over vLLM. What needs it is collected where it is installed: `make vllm-test`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.worker.engine.contracted_engines import pass_over_what_is_loaded
from worker.engine.build import build_engine
from worker.engine.interface import Engine
from worker.engine.settings import NativeEngineSettings, VllmEngineSettings
from worker.engine.vllm.supported_versions import installed

SLOTS = 8

collect_ignore = [] if installed() else ["test_parity.py", "test_scheduling.py", "test_whole_system.py"]


@pytest.fixture
def start_vllm(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Engine]]:
    """(checkpoint, max_step_tokens, its talker's class) -> an engine, closed in the end."""
    started: list[Engine] = []

    def start(checkpoint: Path, max_step_tokens: int = 1024, talker: type | None = None) -> Engine:
        if talker is not None:
            monkeypatch.setattr("worker.engine.vllm.engine.VllmTalker", talker)
        pass_over_what_is_loaded()
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
