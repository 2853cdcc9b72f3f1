"""Systems to break, and the table of figures at the end of the run."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from tests.faults.system import RunningSystem

_LINES = pytest.StashKey[list[str]]()


LONG_RUN_JOBS = 1_000


def _num_jobs() -> int:
    return int(os.environ.get("RHAPSODE_TEST_FAULT_JOBS", "200"))


class StartSystem(Protocol):
    def __call__(self, **settings: str) -> RunningSystem: ...


@pytest.fixture(scope="session")
def num_jobs() -> int:
    """Jobs of the standard load; `make faults` asks for 1,000."""
    return _num_jobs()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Rows that start a system for each of many places are for the long run only."""
    if _num_jobs() >= LONG_RUN_JOBS:
        return
    left_out = [item for item in items if item.get_closest_marker("long_run")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="session")
def seed() -> int:
    return int(os.environ.get("RHAPSODE_TEST_FAULT_SEED", "1"))


@pytest.fixture
def start_system() -> Iterator[StartSystem]:
    """Starts whole systems, with settings by variable name, and kills them after the test."""
    # Not pytest's folder: the server's socket needs a short path.
    folder = Path(tempfile.mkdtemp(prefix="rhf-", dir="/tmp"))
    systems: list[RunningSystem] = []

    def start(**settings: str) -> RunningSystem:
        system = RunningSystem(folder / str(len(systems)), **settings)
        systems.append(system)
        system.start()
        return system

    yield start
    for system in systems:
        system.kill_everything()
    shutil.rmtree(folder)


@pytest.fixture
def report(request: pytest.FixtureRequest) -> list[str]:
    """Lines that are shown at the end of the run, whether it passed or not."""
    return request.config.stash.setdefault(_LINES, [])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    lines = config.stash.get(_LINES, [])
    if lines:
        terminalreporter.section("faults")
        for line in lines:
            terminalreporter.write_line(line)
