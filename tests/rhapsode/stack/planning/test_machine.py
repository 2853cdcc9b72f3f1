"""What the system says of cores and memory, in a /sys of our own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from rhapsode.stack.planning.machine import read_machine
from worker.engine.cores import core_numbers

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /sys")


def written(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


def test_this_machine_is_the_one_that_we_run_on() -> None:
    machine = read_machine()

    assert {core.number for core in machine.cores} == core_numbers()
    assert 1 <= machine.allowance <= len(machine.cores)
    assert machine.memory_bytes > 2**28


def test_threads_of_a_core_and_its_memory_are_known(tmp_path: Path) -> None:
    first = min(core_numbers())
    written(tmp_path, f"devices/system/cpu/cpu{first}/topology/thread_siblings_list", f"{first}-{first},{first + 48}\n")
    written(tmp_path, "devices/system/node/node1/cpulist", f"{first},100-103\n")
    written(tmp_path, "devices/system/node/node0/cpulist", "\n")

    core = read_machine(system=tmp_path).cores[0]

    assert (core.number, core.unit, core.node) == (first, first, 1)


@pytest.mark.parametrize(
    ("files", "allowance"),
    [
        ({"cpu.max": "50000 100000\n"}, 1),
        ({"cpu.max": "max 100000\n"}, None),
        ({"cpu/cpu.cfs_quota_us": "80000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 1),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, None),
        ({}, None),
    ],
)
def test_a_containers_share_of_time_counts_and_is_not_divided(
    tmp_path: Path, files: dict[str, str], allowance: int | None
) -> None:
    for name, text in files.items():
        written(tmp_path, f"fs/cgroup/{name}", text)

    machine = read_machine(system=tmp_path)

    assert machine.allowance == (allowance or len(machine.cores))
    assert machine.can_divide is (machine.allowance == len(machine.cores))


def test_a_containers_memory_counts(tmp_path: Path) -> None:
    written(tmp_path, "fs/cgroup/memory.max", f"{2**29}\n")
    assert read_machine(system=tmp_path).memory_bytes == 2**29

    written(tmp_path, "fs/cgroup/memory.max", "max\n")
    assert read_machine(system=tmp_path).memory_bytes > 2**29
