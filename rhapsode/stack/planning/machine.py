"""What a machine has for the processes of a stack: cores, memory, GPUs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from worker.engine.cores import core_numbers, read_system_file, usable_cores

SYSTEM = Path("/sys")


@dataclass(frozen=True, slots=True)
class Core:
    """What the scheduler takes for one. unit: the first of those that share its arithmetic. node: of its memory."""

    number: int
    unit: int
    node: int = 0


@dataclass(frozen=True, slots=True)
class Gpu:
    """device: as torch counts them. node: the memory it is near to, where the system says."""

    device: str
    name: str
    memory_bytes: int
    node: int | None = None


@dataclass(frozen=True, slots=True)
class MachineFacts:
    """cores: those that this process may run on. allowance: how many of them at a time, as a container may be limited.

    can_divide: whether processes can get dedicated cores. gpu_note: why there are no GPUs although there may be some.
    """

    cores: tuple[Core, ...]
    allowance: int
    memory_bytes: int
    gpus: tuple[Gpu, ...] = ()
    can_divide: bool = True
    gpu_note: str = ""


def read_machine(gpus: tuple[Gpu, ...] = (), gpu_note: str = "", system: Path = SYSTEM) -> MachineFacts:
    """This one."""
    cores = _cores(system)
    allowance = usable_cores(system / "fs" / "cgroup")
    can_divide = sys.platform == "linux" and allowance == len(cores)
    return MachineFacts(cores, allowance, _memory(system / "fs" / "cgroup"), gpus, can_divide, gpu_note)


def _cores(system: Path) -> tuple[Core, ...]:
    node_of = _nodes(system / "devices" / "system" / "node")
    return tuple(Core(number, _unit(system, number), node_of.get(number, 0)) for number in sorted(core_numbers()))


def _unit(system: Path, number: int) -> int:
    siblings = system / "devices" / "system" / "cpu" / f"cpu{number}" / "topology" / "thread_siblings_list"
    return min(_listed(siblings), default=number)


def _nodes(folder: Path) -> dict[int, int]:
    return {
        number: int(node.name.removeprefix("node"))
        for node in folder.glob("node[0-9]*")
        for number in _listed(node / "cpulist")
    }


def _listed(file: Path) -> Iterable[int]:
    """The kernel's way to write numbers: `0-3,8`. None where it does not say."""
    try:
        spans = [span.partition("-") for span in file.read_text().strip().split(",") if span]
    except OSError:
        return ()
    return [number for first, _, last in spans for number in range(int(first), int(last or first) + 1)]


def _memory(cgroup: Path) -> int:
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = read_system_file(cgroup / "memory.max") or read_system_file(cgroup / "memory" / "memory.limit_in_bytes")
    return min(there, int(limit)) if limit.isdecimal() else there
