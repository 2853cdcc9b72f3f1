"""Webhooks under kill -9 of their deliverer, with receivers that fail: none is lost, none has two ids or two bodies."""

from __future__ import annotations

import os
import signal
import time
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from rhapsode.stack import processes
from storage.database.keys import WebhookKeys
from tests.faults.conftest import Report, StartSystem
from tests.faults.figures import FaultLog, check_standard_pass, collect
from tests.faults.load import Load, Outcome, standard_load
from tests.faults.receiver import Receiver, receiving
from tests.faults.system import TENANTS, RunningSystem, api_key

pytestmark = [pytest.mark.faults, pytest.mark.timeout(1800)]

AT_LEAST_JOBS, LEAST_KILLS = 120, 4
JOBS_A_KILL = 50
"""Twenty kills at 1,000 jobs."""

DELAYS_S = "0.3,0.5,0.7,1,1,2,2,3,3"
"""In place of the schedule of three days."""

SETTINGS = {"RHAPSODE_WEBHOOK_ALLOW_PRIVATE": "loopback", "RHAPSODE_WEBHOOK_DELAYS_S": DELAYS_S}

FAILS, LOSES = 0.2, 0.05
FLIGHTS = f"{WebhookKeys('rhapsode').root}:flights"


def test_rows_19_and_24_killing_the_deliverer_loses_no_webhook_and_changes_none(
    start_system: StartSystem, num_jobs: int, seed: int, report: Report
) -> None:
    """It dies between a receiver's taking and its own record, each time of one attempt, which comes once more.

    Whatever is under way at a death and was taken does: four attempts at most for an endpoint.
    """
    jobs, log = standard_load(max(num_jobs, AT_LEAST_JOBS), seed), FaultLog()
    system, kills = start_system(**SETTINGS), max(LEAST_KILLS, num_jobs // JOBS_A_KILL)
    outcomes: list[Outcome] = []
    with receiving(FAILS, LOSES, seed) as receiver:
        for tenant in TENANTS:
            _register(system, receiver, tenant)
        begun_s = time.monotonic()
        for number in range(kills):
            receiver.hold_next()
            load = Load(system, jobs[number::kills])
            with load.running():
                assert receiver.holding.acquire(timeout=120), system.last_words()
                _kill_with_one_under_way(system)
                log.struck("kill -9 hooks worker")
                receiver.let_go.set()
            outcomes += load.outcomes()
        system.eventually(lambda: len(receiver.events) >= len(jobs), 120)
        # What was taken and never answered comes once more.
        system.eventually(lambda: _pending(system) == 0, 120)
        figures = collect("19, 24 kill -9 hooks worker", seed, system, outcomes, log, time.monotonic() - begun_s)
        report(figures.line())
        of_lost, of_kills = receiver.duplicates["lost"], receiver.duplicates.total() - receiver.duplicates["lost"]
        report(
            f"19, 24 webhooks: jobs {len(jobs)}, posts {receiver.posts}, answered 500 {receiver.refused}, "
            f"never answered {receiver.lost}, webhooks lost {len(jobs) - len(receiver.jobs_told())}, distinct ids per "
            f"job > 1: {len(receiver.events) - len(receiver.jobs_told())}, ids with two bodies "
            f"{sum(len(bodies) > 1 for bodies in receiver.bodies.values())}, duplicates of lost answers "
            f"{of_lost}, of {kills} kills {of_kills}"
        )

    check_standard_pass(figures, system, outcomes)
    assert receiver.jobs_told() == {outcome.job_id for outcome in outcomes}
    assert len(receiver.events) == len(receiver.bodies) == len(jobs)
    assert all(len(bodies) == 1 for bodies in receiver.bodies.values())
    assert {event.type for event in receiver.events.values()} == {"job.succeeded"}
    assert receiver.duplicates["lost"] <= receiver.lost
    assert receiver.duplicates["answered"] == 0
    assert receiver.duplicates["held"] <= kills


def _kill_with_one_under_way(system: RunningSystem) -> None:
    """The one that the receiver keeps waiting; whatever else is under way is finished first."""
    deliverer = system.pid(processes.HOOKS_WORKER)
    with system.redis() as client:

        def is_alone() -> bool:
            # Stopped, it cannot claim anything between the look and the kill.
            os.kill(deliverer, signal.SIGSTOP)
            if int(client.zcard(FLIGHTS)) == 1:
                return True
            os.kill(deliverer, signal.SIGCONT)
            return False

        system.eventually(is_alone, 120)
    os.kill(deliverer, signal.SIGKILL)
    system.wait_replaced(processes.HOOKS_WORKER, deliverer)


def test_row_39_a_job_past_its_deadline_is_told_of_once(start_system: StartSystem, seed: int, report: Report) -> None:
    system = start_system(**SETTINGS, RHAPSODE_FAKE_STEP_S="0.5")
    tenant = TENANTS[0]
    with receiving(0.0, 0.0, seed) as receiver:
        endpoint = _register(system, receiver, tenant)
        with _client(system, tenant) as http:
            soon = (datetime.now(UTC) + timedelta(seconds=4)).isoformat()
            body = {"input": {"text": "A sentence that takes long. " * 20}, "voice": "ada", "deadline": soon}
            job = http.post("/v1/jobs", json=body).json()["id"]
            system.eventually(lambda: len(receiver.events) == 1, 120)
            ended_s = time.monotonic()
            system.eventually(lambda: system.leases() == 0, 120)
            freed_s = time.monotonic() - ended_s
            (event,) = receiver.events.values()
            ended = http.get(f"/v1/jobs/{job}").json()
            told = http.get(f"/v1/jobs/{job}/webhook-deliveries").json()["data"]
        report(
            f"39 deadline: state {ended['state']}, error {ended['error']['code']}, webhooks {len(told)}, "
            f"slots free {freed_s:.1f} s after the webhook, seed {seed}"
        )

    assert event.type in ("job.expired", "job.failed")
    assert ended["error"]["code"] == "deadline_exceeded"
    assert [each["endpoint_id"] for each in told] == [endpoint]


def _register(system: RunningSystem, receiver: Receiver, tenant: str) -> str:
    with _client(system, tenant) as http:
        made = http.post("/v1/webhook-endpoints", json={"url": f"{receiver.url}/{tenant}"}).json()
    receiver.secrets[f"/{tenant}"] = made["secret"]
    return made["id"]


def _pending(system: RunningSystem) -> int:
    """Deliveries that are not at their end."""
    with system.redis() as client:
        return sum(
            int(client.zcard(key)) for kind in ("waiting", "flying") for key in client.scan_iter(f"*:w:{kind}:*")
        )


def _client(system: RunningSystem, tenant: str) -> httpx.Client:
    headers = {"Authorization": f"Bearer {api_key(tenant)}"}
    return httpx.Client(base_url=system.url, headers=headers, timeout=30, trust_env=False)
