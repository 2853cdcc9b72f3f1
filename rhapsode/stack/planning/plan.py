"""Which processes a stack has on a machine, where each runs, and why. Pure.

A worker speaks on each device. A worker on a GPU has dedicated cores, near to it where the machine's topology is known.
So nothing delays its next frame. All other processes share the remaining cores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rhapsode.stack.errors import PlanRefused
from rhapsode.stack.planning.devices import CPU, is_gpu, require_there
from rhapsode.stack.planning.machine import Core, Gpu, MachineFacts
from rhapsode.stack.planning.wishes import Wishes
from rhapsode.stack.process_names import (
    API,
    CPU_WORKER,
    CPU_WORKER_THREADS,
    GPU_WORKER,
    HOOKS_WORKER,
    JANITOR,
    process_name,
)

LEAST_OWN_CORES = 2
MOST_OWN_CORES = 12
"""A GPU worker with 256 slots takes some four: its own process, the engine, what judges and stores its speech."""

MOST_OF_A_KIND = 8
"""Valkey, which has one core, is full before eight API processes are."""

API_BYTES = 160 * 1024**2
CPU_WORKER_BYTES = 160 * 1024**2
MEMORY_SHARE = 4
"""One part in so many of the memory is for API processes and CPU workers."""

OPTION_OF = {API: "--api-processes", CPU_WORKER: "--cpu-workers", GPU_WORKER: "--device"}
NAMED = {API: "API processes", CPU_WORKER: "CPU workers", GPU_WORKER: "devices"}


@dataclass(frozen=True, slots=True)
class PlannedProcess:
    """number: among the `how_many` of its kind. threads: that compute. device: where it speaks; empty: it does not.

    cores: those it may run on; none: all of the machine's.
    """

    kind: str
    number: int
    how_many: int
    threads: int
    device: str = ""
    cores: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        return process_name(self.kind, self.number, self.how_many)

    @property
    def worker_name(self) -> str:
        """Its name among the workers of the system, which survives its restarts."""
        return f"{self.kind.removesuffix('-worker')}-{self.number}"


@dataclass(frozen=True, slots=True)
class StackPlan:
    """common_cores: of all processes without dedicated cores; none: the cores are not divided. reasons: by kind."""

    machine: MachineFacts
    processes: tuple[PlannedProcess, ...]
    common_cores: tuple[int, ...]
    reasons: Mapping[str, str]

    def of_kind(self, kind: str) -> tuple[PlannedProcess, ...]:
        return tuple(process for process in self.processes if process.kind == kind)


def plan_processes(machine: MachineFacts, wishes: Wishes) -> StackPlan:
    """Raises `PlanRefused` for devices that are not there, and for more processes of a kind than there are cores."""
    devices, why_devices = _choose_devices(machine, wishes)
    _check_count(GPU_WORKER, len(devices), machine)
    gpus = [gpu for device in devices for gpu in machine.gpus if gpu.device == device]
    own = _divide(machine, gpus)
    apis, why_apis = _choose_count(API, wishes.api_processes, machine, own, devices)
    cpu_workers, why_cpu_workers = _choose_count(CPU_WORKER, wishes.cpu_workers, machine, own, devices)
    common = _rest(machine, own)
    threads = wishes.engine_threads or _engine_threads(machine, own)
    speaking = tuple(
        PlannedProcess(GPU_WORKER, number, len(devices), threads, device, own.get(device, ()))
        for number, device in enumerate(devices)
    )
    processes = (
        *speaking,
        *_several(CPU_WORKER, cpu_workers, CPU_WORKER_THREADS, common),
        *_several(HOOKS_WORKER, 1, 1, common),
        *_several(API, apis, 1, common),
        *_several(JANITOR, 1, 1, common),
    )
    reasons = {GPU_WORKER: why_devices, API: why_apis, CPU_WORKER: why_cpu_workers}
    return StackPlan(machine, processes, common, reasons)


def _choose_devices(machine: MachineFacts, wishes: Wishes) -> tuple[tuple[str, ...], str]:
    there = [gpu.device for gpu in machine.gpus]
    if wishes.devices:
        require_there(wishes.devices_source, wishes.devices, there, machine.gpu_note)
        return wishes.devices, wishes.devices_reason
    if there:
        return tuple(there), "every GPU that torch sees"
    return (CPU,), f"no GPU{f': {machine.gpu_note}' if machine.gpu_note else ''}"


def _choose_count(
    kind: str, wished: int | None, machine: MachineFacts, own: Mapping[str, Sequence[int]], devices: Sequence[str]
) -> tuple[int, str]:
    """How many processes of this kind, and why so many."""
    if wished is not None:
        _check_count(kind, wished, machine)
        return wished, "as asked for"
    left = _cores_left(machine, own, devices)
    by_cores = max(1, min(MOST_OF_A_KIND, left // 2))
    by_memory = max(1, machine.memory_bytes // MEMORY_SHARE // (API_BYTES + CPU_WORKER_BYTES))
    if by_memory < by_cores:
        return by_memory, f"a part of {_gib(machine.memory_bytes)} of memory"
    return by_cores, f"one for two of {left} cores{_up_to_most(left)}" if left > 1 else "one core is left"


def _up_to_most(left: int) -> str:
    return f", and {MOST_OF_A_KIND} at most" if left // 2 > MOST_OF_A_KIND else ""


def _check_count(kind: str, count: int, machine: MachineFacts) -> None:
    if not 1 <= count <= machine.allowance:
        cores = f"{machine.allowance} core{'s' if machine.allowance > 1 else ''}"
        raise PlanRefused(f"{OPTION_OF[kind]}: {count} {NAMED[kind]} for {cores}; there can be as many as cores")


def _cores_left(machine: MachineFacts, own: Mapping[str, Sequence[int]], devices: Sequence[str]) -> int:
    """For everything but speaking. An engine on the CPU takes half of the cores."""
    if own:
        return machine.allowance - sum(map(len, own.values()))
    gpus = sum(map(is_gpu, devices))
    return max(1, machine.allowance - gpus if gpus else machine.allowance // 2)


def _divide(machine: MachineFacts, gpus: Sequence[Gpu]) -> dict[str, tuple[int, ...]]:
    """Cores by device; none where there are too few, or where they cannot be divided. Half of all go to the GPUs."""
    share = min(MOST_OWN_CORES, len(machine.cores) // (2 * len(gpus))) if gpus else 0
    if share < LEAST_OWN_CORES or not machine.can_divide:
        return {}
    free = list(machine.cores)
    divided: dict[str, tuple[int, ...]] = {}
    for gpu in gpus:
        taken = sorted(free, key=lambda core: _distance(gpu, core))[:share]
        divided[gpu.device] = tuple(sorted(core.number for core in taken))
        free = [core for core in free if core not in taken]
    return divided


def _distance(gpu: Gpu, core: Core) -> tuple[bool, int, int, int]:
    """Near ones first; those that share their arithmetic go together."""
    return (core.node != gpu.node, core.node, core.unit, core.number)


def _rest(machine: MachineFacts, own: Mapping[str, Sequence[int]]) -> tuple[int, ...]:
    taken = {number for numbers in own.values() for number in numbers}
    return tuple(core.number for core in machine.cores if core.number not in taken) if taken else ()


def _engine_threads(machine: MachineFacts, own: Mapping[str, Sequence[int]]) -> int:
    """As the engine takes them where no setting says otherwise: half of the cores it may run on."""
    usable = min((len(numbers) for numbers in own.values()), default=machine.allowance)
    return max(1, usable // 2)


def _several(kind: str, how_many: int, threads: int, cores: tuple[int, ...]) -> tuple[PlannedProcess, ...]:
    return tuple(PlannedProcess(kind, number, how_many, threads, cores=cores) for number in range(how_many))


def _gib(num_bytes: int) -> str:
    return f"{num_bytes / 1024**3:.1f} GiB"
