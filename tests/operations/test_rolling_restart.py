"""Every process of a system is restarted under load, one after the other: nothing is lost, nothing is spoken twice."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress

import pytest
import redis

from rhapsode.stack import processes
from tests.faults.conftest import Report, StartSystem
from tests.faults.figures import FaultLog, check_standard_pass, collect
from tests.faults.load import Load, standard_load

pytestmark = [pytest.mark.faults, pytest.mark.long, pytest.mark.timeout(900)]

JOBS = 80
MOST_UNHEARD = 28
"""Threads of both workers, each with a claim under way."""

IN_TURN = (
    processes.GPU_WORKER,
    processes.CPU_WORKER,
    processes.HOOKS_WORKER,
    processes.JANITOR,
    processes.VALKEY,
    processes.API,
)


def test_a_rolling_restart_of_every_process_loses_nothing_and_speaks_nothing_twice(
    start_system: StartSystem, seed: int, report: Report
) -> None:
    # Slow enough that the last process goes while jobs are still being spoken.
    system, log, begun_s = start_system(RHAPSODE_FAKE_STEP_S="0.03"), FaultLog(), time.monotonic()
    load = Load(system, standard_load(JOBS, seed))

    with load.running():
        for number, name in enumerate(IN_TURN):
            load.wait_until((number + 0.5) / (len(IN_TURN) + 1))
            pid = system.pid(name)
            os.kill(pid, signal.SIGTERM)
            system.wait_replaced(name, pid)
            log.struck(f"SIGTERM {name}")
    outcomes = load.outcomes()
    with system.redis() as client:
        system.eventually(lambda: answers(client), 60)
    figures = collect("12 every process in turn", seed, system, outcomes, log, time.monotonic() - begun_s)
    report(figures.line())

    check_standard_pass(figures, system, outcomes)
    # A claim whose answer was lost when Valkey ended was never worked on; its lease ran out.
    unheard = sum(int(str(entry["leases_expired"])) for entry in system.log_events("swept"))
    assert figures.reruns <= unheard
    assert unheard <= MOST_UNHEARD


def answers(client: redis.Redis) -> bool:
    """Valkey may have been the last to go."""
    with suppress(redis.RedisError):
        return bool(client.ping())
    return False
