"""How many cores a process may use, on machines of every size."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from worker.engine.cores import core_numbers, usable_cores

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux says which cores a process may use")


def pretend(monkeypatch: pytest.MonkeyPatch, numbers: set[int]) -> None:
    """The system says these cores."""

    def affinity(_process: int) -> set[int]:
        return numbers

    monkeypatch.setattr(os, "sched_getaffinity", affinity)


def write_limit(cgroup: Path, limit: str) -> None:
    (cgroup / "cpu.max").write_text(f"{limit}\n")


def test_a_process_that_may_use_one_core_counts_one() -> None:
    core = min(core_numbers())
    program = "from worker.engine.cores import usable_cores; print(usable_cores())"

    outcome = subprocess.run(
        [sys.executable, "-c", f"import os; os.sched_setaffinity(0, {{{core}}}); {program}"],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[3],
    )

    assert outcome.stdout == "1\n"


@pytest.mark.parametrize("cores", [1, 2, 4, 16])
def test_without_a_limit_every_core_of_the_process_counts(
    cores: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pretend(monkeypatch, set(range(cores)))

    assert usable_cores(tmp_path) == cores
    write_limit(tmp_path, "max 100000")
    assert usable_cores(tmp_path) == cores


@pytest.mark.parametrize(
    ("limit", "of_16", "of_2"),
    [("400000 100000", 4, 2), ("150000 100000", 2, 2), ("50000 100000", 1, 1), ("3200000 100000", 16, 2)],
)
def test_a_containers_limit_counts(
    limit: str, of_16: int, of_2: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write_limit(tmp_path, limit)

    pretend(monkeypatch, set(range(16)))
    assert usable_cores(tmp_path) == of_16
    pretend(monkeypatch, {3, 7})
    assert usable_cores(tmp_path) == of_2


def test_an_older_kernel_writes_the_limit_elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pretend(monkeypatch, set(range(16)))
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu" / "cpu.cfs_quota_us").write_text("250000\n")
    (tmp_path / "cpu" / "cpu.cfs_period_us").write_text("100000\n")

    assert usable_cores(tmp_path) == 3
