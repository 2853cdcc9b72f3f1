"""A pytest plugin for `run_tests.py`: the outcome of each test, and which test each process runs now, as files."""

from __future__ import annotations

import faulthandler
import json
import os
import signal
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pytest

OPTION = "--report-to"


@dataclass(slots=True)
class Outcomes:
    """Of the tests of a run, by node id. A test is in one of them."""

    passed: set[str] = field(default_factory=set[str])
    skipped: set[str] = field(default_factory=set[str])
    failed: dict[str, str] = field(default_factory=dict[str, str])
    """With the text of its first failure."""


class Process(NamedTuple):
    """pid: of a pytest process. name: "main", or that of its worker. test: which it runs now, if any."""

    pid: int
    name: str
    test: str | None


def outcomes_in(folder: Path) -> Outcomes:
    found = Outcomes()
    for test, outcome, text in _lines_of(folder):
        if outcome == "failed":
            found.failed.setdefault(test, text)
        else:
            (found.passed if outcome == "passed" else found.skipped).add(test)
    # A test that passed may have failed in the end of a fixture.
    found.passed -= found.failed.keys() | found.skipped
    found.skipped -= found.failed.keys()
    return found


def processes_in(folder: Path) -> list[Process]:
    """All that there were, in the order of their names."""
    return sorted(
        (Process(*json.loads(file.read_text())) for file in folder.glob("*.process")), key=lambda each: each.name
    )


def stacks_in(folder: Path, process: Process) -> str:
    """What the process has written at SIGUSR1."""
    return (folder / f"{process.pid}.stacks").read_text()


def _lines_of(folder: Path) -> Iterator[tuple[str, str, str]]:
    file = folder / "outcomes"
    if file.exists():
        for line in file.read_text().splitlines():
            yield json.loads(line)


class RunReport:
    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = name
        self._stacks = (folder / f"{os.getpid()}.stacks").open("w")
        faulthandler.register(signal.SIGUSR1, self._stacks, all_threads=True)
        self._note(None)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._note(item.nodeid)
        try:
            return (yield)
        finally:
            self._note(None)

    def pytest_unconfigure(self) -> None:
        faulthandler.unregister(signal.SIGUSR1)
        self._stacks.close()

    def _note(self, test: str | None) -> None:
        whole = self._folder / f"{os.getpid()}.new"
        whole.write_text(json.dumps(Process(os.getpid(), self._name, test)))
        whole.rename(whole.with_suffix(".process"))


class OutcomeReport:
    """In the process that hears from all workers."""

    def __init__(self, folder: Path) -> None:
        self._file = (folder / "outcomes").open("a")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed or report.skipped or report.when == "call":
            self._write(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._write(report)

    def _write(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        # A line at a time: what is here survives a kill.
        print(json.dumps((report.nodeid, report.outcome, report.longreprtext)), file=self._file, flush=True)

    def pytest_unconfigure(self) -> None:
        self._file.close()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(OPTION, help="folder for what run_tests.py wants to know", required=True)


def pytest_configure(config: pytest.Config) -> None:
    folder = Path(str(config.getoption(OPTION)))
    worker = os.environ.get("PYTEST_XDIST_WORKER") if hasattr(config, "workerinput") else None
    config.pluginmanager.register(RunReport(folder, worker or "main"))
    if worker is None:
        config.pluginmanager.register(OutcomeReport(folder))
