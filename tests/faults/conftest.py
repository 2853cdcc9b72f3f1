"""Systems to break, and the table of figures at the end of the run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Protocol

import pytest

from tests.faults.system import RunningSystem

LONG_RUN_JOBS = 1_000

PROPERTY = "fault figures"


def _num_jobs() -> int:
    return int(os.environ.get("RHAPSODE_TEST_FAULT_JOBS", "40"))


class StartSystem(Protocol):
    def __call__(self, **settings: str) -> RunningSystem: ...


Report = Callable[[str], None]


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
def start_system(data_dir: Path) -> Iterator[StartSystem]:
    """Starts whole systems, with settings by variable name, and kills them after the test."""
    systems: list[RunningSystem] = []

    def start(**settings: str) -> RunningSystem:
        system = RunningSystem(data_dir / str(len(systems)), **settings)
        systems.append(system)
        system.start()
        return system

    yield start
    for system in systems:
        system.kill_everything()


@pytest.fixture(scope="module")
def shared_system(run_dir: Path) -> Iterator[RunningSystem]:
    """For rows that need no settings: to start a system takes more than what most of them do with it."""
    system = RunningSystem(run_dir / "faults")
    system.start()
    yield system
    system.kill_everything()


@pytest.fixture
def system(shared_system: RunningSystem) -> RunningSystem:
    """As if it had just been started: what earlier rows did is not counted. Their jobs are known, and done."""
    shared_system.begin_row()
    return shared_system


@pytest.fixture
def report(record_property: Callable[[str, object], None]) -> Report:
    """Shows a line at the end of the run, whether the test passed or not."""
    # Properties travel with a test's outcome, from whichever process it ran in.
    return partial(record_property, PROPERTY)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    outcomes = [report for reports in terminalreporter.stats.values() for report in reports]
    calls = [report for report in outcomes if isinstance(report, pytest.TestReport) and report.when == "call"]
    lines = [str(value) for call in calls for name, value in call.user_properties if name == PROPERTY]
    if lines:
        terminalreporter.section("faults")
        for line in lines:
            terminalreporter.write_line(line)
