"""A worker of two models is killed on its way from one to the other: nothing is lost, and both are served."""

from __future__ import annotations

import os
import random
import signal
import time
from dataclasses import dataclass

import pytest

from rhapsode.stack import processes
from tests.faults.conftest import Report, StartSystem
from tests.faults.load import Load, NarrationJob, Outcome, standard_load
from tests.faults.system import TENANTS, Leftovers, RunningSystem

pytestmark = [pytest.mark.faults, pytest.mark.timeout(900)]

JOBS_OF_A_ROUND = 10
KILLS = 3
LEAVING, LOADED = "leaving for another model", "another model loaded"
MODELS = {
    "RHAPSODE_CHECKPOINT": "/models/alpha",
    "RHAPSODE_CHECKPOINTS": "/models/alpha,/models/beta",
    "RHAPSODE_FAKE_STEP_S": "0.02",
}


@dataclass(frozen=True)
class JobOfModel(NarrationJob):
    model: str = "alpha"

    def body(self) -> dict[str, object]:
        return super().body() | {"model": self.model}


def load_of_two_models(number: int, seed: int) -> list[NarrationJob]:
    models = ("alpha", "beta")
    return [
        JobOfModel(job.number, job.tenant, job.text, job.seed, models[job.number % 2])
        for job in standard_load(number, seed)
    ]


def times_left(system: RunningSystem) -> int:
    return len(system.log_events(LEAVING))


def test_a_worker_that_is_killed_between_two_models_loses_nothing(
    start_system: StartSystem, seed: int, report: Report
) -> None:
    system, dice, begun_s = start_system(**MODELS), random.Random(seed), time.monotonic()
    first_pid = system.pid(processes.GPU_WORKER)
    outcomes: list[Outcome] = []

    for number in range(KILLS):
        # One load for all kills may be through before the last of them: a fast worker then never leaves again.
        load, left = Load(system, load_of_two_models(JOBS_OF_A_ROUND, seed + number), number), times_left(system)
        with load.running():
            system.eventually(lambda before=left: times_left(system) > before, 300)
            # Between its last words for one model and its first for the other, or while it loads that one.
            time.sleep(dice.uniform(0.0, 6.0))
            pid = system.pid(processes.GPU_WORKER)
            os.kill(pid, signal.SIGKILL)
            system.wait_replaced(processes.GPU_WORKER, pid)
        outcomes += load.outcomes()

    assert first_pid != system.pid(processes.GPU_WORKER)
    assert [outcome.error for outcome in outcomes if outcome.error] == []
    assert system.charged_attempts() == 0
    system.eventually(lambda: system.leftovers() == Leftovers((), 0, 0, 0, 0), 60)
    assert system.log_events(LOADED)
    took_s = sorted(float(str(event["took_s"])) for event in system.log_events(LOADED))
    report(
        f"{KILLS} kills on the way to another model: {len(outcomes)} jobs of two models, 0 lost, "
        f"{times_left(system)} times on the way, {took_s} s, {time.monotonic() - begun_s:.0f} s in all"
    )


def test_a_worker_goes_where_work_waits_under_the_same_process_id_and_comes_back(start_system: StartSystem) -> None:
    system = start_system(**MODELS)
    pid = system.pid(processes.GPU_WORKER)

    for tenant, model in zip(TENANTS, ("beta", "alpha", "beta"), strict=False):
        load = Load(system, [JobOfModel(1, tenant, "The river crossed the garden.", 7, model)])
        with load.running():
            load.wait_until(1.0)
        assert [outcome.error for outcome in load.outcomes()] == [None]

    assert system.pid(processes.GPU_WORKER) == pid
    assert system.restarts(processes.GPU_WORKER) == 0
    assert [event["model"] for event in system.log_events(LOADED)] == ["beta", "alpha", "beta"]
    assert system.leftovers() == Leftovers((), 0, 0, 0, 0)


def test_a_worker_that_is_told_to_end_on_its_way_ends(start_system: StartSystem) -> None:
    system = start_system(**MODELS)
    load = Load(system, [JobOfModel(1, TENANTS[0], "The river crossed the garden.", 7, "beta")])

    with load.running():
        system.eventually(lambda: len(system.log_events(LEAVING)) == 1, 300)
        pid = system.pid(processes.GPU_WORKER)
        os.kill(pid, signal.SIGTERM)
        system.wait_replaced(processes.GPU_WORKER, pid)

    assert [outcome.error for outcome in load.outcomes()] == [None]
