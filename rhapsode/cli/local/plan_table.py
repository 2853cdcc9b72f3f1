"""The processes of a stack as a table, for `rhapsode up` and `rhapsode doctor`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from rhapsode.cli.formatting import counted
from rhapsode.cli.tables import table
from rhapsode.stack.process_names import API, CPU_WORKER, GPU_WORKER

if TYPE_CHECKING:
    from rhapsode.stack.planning.machine import Gpu, MachineFacts
    from rhapsode.stack.planning.plan import PlannedProcess, StackPlan

HEAD = ("process", "number", "device", "cores", "threads", "why")


def machine_line(machine: MachineFacts) -> str:
    """For instance: `16 cores, 125.8 GiB of memory, 2 GPUs`."""
    gpus = counted(len(machine.gpus), "GPU") if machine.gpus else "no GPU"
    limited = "" if machine.allowance == len(machine.cores) else f" of {len(machine.cores)}, as this container may use"
    return f"{counted(machine.allowance, 'core')}{limited}, {_gib(machine.memory_bytes)} of memory, {gpus}"


def plan_lines(plan: StackPlan) -> Sequence[str]:
    """A heading, then a line for each GPU and for each other kind of process."""
    return table(HEAD, [*_rows(plan)])


def plan_facts(plan: StackPlan) -> Sequence[dict[str, object]]:
    """The same for a log: an entry for each process."""
    return [
        {"name": each.name, "device": each.device, "cores": _spans(each.cores), "threads": each.threads}
        for each in plan.processes
    ]


def _rows(plan: StackPlan) -> Iterator[tuple[str, ...]]:
    for speaking in plan.of_kind(GPU_WORKER):
        yield _row(plan, [speaking], speaking.name, _device(speaking, plan.machine.gpus))
    for kind in (API, CPU_WORKER):
        yield _row(plan, plan.of_kind(kind), kind, "")
    others = [each for each in plan.processes if each.kind not in (GPU_WORKER, API, CPU_WORKER)]
    yield _row(plan, others[:1], " and ".join(each.name for each in others), "")


def _row(plan: StackPlan, alike: Sequence[PlannedProcess], name: str, device: str) -> tuple[str, ...]:
    """A cell for each heading."""
    first = alike[0]
    cores = _spans(first.cores) or f"all {plan.machine.allowance}"
    return name, str(len(alike)), device, cores, str(first.threads), plan.reasons.get(first.kind, "one of each")


def _device(speaking: PlannedProcess, gpus: Iterable[Gpu]) -> str:
    found = next((gpu for gpu in gpus if gpu.device == speaking.device), None)
    return speaking.device if found is None else f"{found.device} {found.name}, {_gib(found.memory_bytes)}"


def _spans(numbers: Sequence[int]) -> str:
    """As the kernel writes them: `0-3,8`."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and spans[-1][-1] == number - 1:
            spans[-1][1:] = [number]
        else:
            spans.append([number])
    return ",".join("-".join(map(str, span)) for span in spans)


def _gib(num_bytes: int) -> str:
    return f"{num_bytes / 1024**3:.1f} GiB"
