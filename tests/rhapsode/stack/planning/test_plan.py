"""What is started on any machine: laws of the plan, and the machines that it was thought through with."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rhapsode.stack.errors import PlanRefused
from rhapsode.stack.planning.machine import Core, Gpu, MachineFacts
from rhapsode.stack.planning.plan import MOST_OF_A_KIND, StackPlan, plan_processes
from rhapsode.stack.planning.wishes import Wishes
from rhapsode.stack.process_names import API, CPU_WORKER, GPU_WORKER, HOOKS_WORKER, JANITOR

GIB = 1024**3
KINDS = (API, CPU_WORKER, GPU_WORKER, HOOKS_WORKER, JANITOR)


def machine_of(num_cores: int, num_gpus: int = 0, *, nodes: int = 1, memory_gib: float = 256) -> MachineFacts:
    """Two threads a core, one half of them numbered behind the other, as Linux does; GPUs in turn near each node."""
    units = max(1, num_cores // 2)
    cores = tuple(Core(number, number % units, number % units * nodes // units) for number in range(num_cores))
    gpus = tuple(Gpu(f"cuda:{n}", "NVIDIA H200", 140 * GIB, n * nodes // num_gpus) for n in range(num_gpus))
    return MachineFacts(cores, num_cores, round(memory_gib * GIB), gpus)


@st.composite
def machines(draw: st.DrawFn) -> MachineFacts:
    numbers = draw(st.sets(st.integers(0, 511), min_size=1, max_size=256))
    near = st.integers(0, 3)
    cores = tuple(Core(number, draw(st.integers(0, number)), draw(near)) for number in sorted(numbers))
    num_gpus = draw(st.integers(0, min(8, len(cores))))
    gpus = tuple(Gpu(f"cuda:{n}", "GPU", GIB, draw(st.none() | near)) for n in range(num_gpus))
    allowance = draw(st.integers(max(1, num_gpus), len(cores)))
    can_divide = allowance == len(cores) and draw(st.booleans())
    return MachineFacts(cores, allowance, draw(st.integers(2**28, 2**42)), gpus, can_divide)


def counts(plan: StackPlan) -> Counter[str]:
    return Counter(process.kind for process in plan.processes)


@given(machines())
def test_every_gpu_has_a_worker_and_every_kind_a_process(machine: MachineFacts) -> None:
    plan = plan_processes(machine, Wishes())

    devices = [worker.device for worker in plan.of_kind(GPU_WORKER)]
    assert devices == ([gpu.device for gpu in machine.gpus] or ["cpu"])
    assert set(counts(plan)) == set(KINDS)
    assert counts(plan)[HOOKS_WORKER] == counts(plan)[JANITOR] == 1


@given(machines())
def test_names_are_one_processs_alone(machine: MachineFacts) -> None:
    plan = plan_processes(machine, Wishes())

    for names in ([each.name for each in plan.processes], [each.worker_name for each in plan.processes]):
        assert len(names) == len(set(names))


@given(machines())
def test_cores_of_a_gpu_worker_are_its_own_and_none_is_idle(machine: MachineFacts) -> None:
    plan = plan_processes(machine, Wishes())

    there = {core.number for core in machine.cores}
    speaking = plan.of_kind(GPU_WORKER)
    if not plan.common_cores:
        assert not any(process.cores for process in plan.processes)
        return
    assert machine.can_divide
    own = [number for worker in speaking for number in worker.cores]
    assert len({len(worker.cores) for worker in speaking}) == 1
    assert sorted([*own, *plan.common_cores]) == sorted(there)
    assert all(each.cores == plan.common_cores for each in plan.processes if each.kind != GPU_WORKER)
    assert len(plan.common_cores) >= len(there) / 2


@given(machines())
def test_no_kind_has_more_processes_than_there_are_cores_and_memory_is_kept(machine: MachineFacts) -> None:
    number = counts(plan_processes(machine, Wishes()))

    assert max(number.values()) <= max(machine.allowance, 1)
    assert number[API] == number[CPU_WORKER] <= MOST_OF_A_KIND
    if number[API] > 1:
        assert number[API] * 320 * 1024**2 <= machine.memory_bytes / 4


@given(st.integers(1, 4), st.integers(1, 200))
def test_more_cores_are_never_less_processes(num_gpus: int, num_cores: int) -> None:
    sizes = [machine_of(max(num_gpus, cores), num_gpus) for cores in (num_cores, 2 * num_cores, 4 * num_cores)]
    numbers = [counts(plan_processes(machine, Wishes()))[API] for machine in sizes]

    assert all(few <= more for few, more in pairwise(numbers))


@given(machines(), st.integers(1, 300), st.integers(1, 300))
def test_what_is_asked_for_is_what_is_started_or_refused(machine: MachineFacts, apis: int, cpu_workers: int) -> None:
    wishes = Wishes(api_processes=apis, cpu_workers=cpu_workers)
    if max(apis, cpu_workers) <= machine.allowance:
        number = counts(plan_processes(machine, wishes))
        assert (number[API], number[CPU_WORKER]) == (apis, cpu_workers)
    else:
        with pytest.raises(PlanRefused, match=r"^--(api-processes|cpu-workers): \d+ .* for \d+ cores?; there can be"):
            plan_processes(machine, wishes)


@pytest.mark.parametrize(
    ("machine", "apis", "own"),
    [
        (machine_of(1), 1, 0),
        (machine_of(2), 1, 0),
        (machine_of(8), 2, 0),
        (machine_of(16), 4, 0),
        (machine_of(16, 1), 4, 8),
        (machine_of(32, 2), 8, 8),
        (machine_of(12, 2), 3, 3),
        (machine_of(4, 2), 1, 0),
        (machine_of(192, 8, nodes=2), 8, 12),
        (machine_of(16, 1, memory_gib=2), 1, 8),
    ],
    ids=lambda value: (
        f"{len(value.cores)}-cores-{len(value.gpus)}-gpus" if isinstance(value, MachineFacts) else str(value)
    ),
)
def test_machines_of_usual_sizes(machine: MachineFacts, apis: int, own: int) -> None:
    plan = plan_processes(machine, Wishes())

    assert counts(plan)[API] == apis
    assert {len(worker.cores) for worker in plan.of_kind(GPU_WORKER)} == {own}


def test_a_gpus_cores_are_near_it_and_whole() -> None:
    """Two sockets of 48 cores with two threads: no worker reaches across, and no two share a core's arithmetic."""
    machine = machine_of(192, 8, nodes=2)
    plan = plan_processes(machine, Wishes())

    core_of = {core.number: core for core in machine.cores}
    for gpu, worker in zip(machine.gpus, plan.of_kind(GPU_WORKER), strict=True):
        assert {core_of[number].node for number in worker.cores} == {gpu.node}
    units = [{core_of[number].unit for number in worker.cores} for worker in plan.of_kind(GPU_WORKER)]
    assert sum(map(len, units)) == len(set[int]().union(*units))


def test_named_devices_are_taken_and_no_others() -> None:
    plan = plan_processes(machine_of(32, 4), Wishes(("cuda:2", "cuda:0"), "--device"))

    assert [(each.name, each.worker_name, each.device) for each in plan.of_kind(GPU_WORKER)] == [
        ("gpu-worker-0", "gpu-0", "cuda:2"),
        ("gpu-worker-1", "gpu-1", "cuda:0"),
    ]
    assert plan_processes(machine_of(32, 4), Wishes(("cpu",), "--device")).common_cores == ()


def test_a_gpu_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(PlanRefused, match=r"^--device: cuda:2 is not here; there is cuda:0, cuda:1$"):
        plan_processes(machine_of(8, 2), Wishes(("cuda:0", "cuda:2"), "--device"))
    without = MachineFacts((Core(0, 0),), 1, GIB, gpu_note="torch 2.9.1+cpu is a build for CPUs")
    with pytest.raises(
        PlanRefused, match=r"^RHAPSODE_DEVICE: .* there is no GPU \(torch 2.9.1\+cpu is a build for CPUs"
    ):
        plan_processes(without, Wishes(("cuda:0",), "RHAPSODE_DEVICE"))


def test_more_gpus_than_cores_are_refused_with_the_way_out() -> None:
    with pytest.raises(PlanRefused, match=r"^--device: 8 devices for 2 cores"):
        plan_processes(machine_of(2, 8), Wishes())
