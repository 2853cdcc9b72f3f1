"""Webhooks under kill -9 of their deliverer, with receivers that fail: none is lost, none has two ids or two bodies."""

from __future__ import annotations

import time

import httpx
import pytest

from rhapsode.stack import processes
from tests.faults.conftest import Report, StartSystem
from tests.faults.figures import FaultLog, check_standard_pass, collect
from tests.faults.load import Load, standard_load
from tests.faults.receiver import Receiver, receiving
from tests.faults.system import TENANTS, RunningSystem, api_key

pytestmark = [pytest.mark.faults, pytest.mark.timeout(1800)]

AT_LEAST_JOBS = 300
POSTS_A_LIFE = 60
THREADS = 32
"""Of the deliverer: so many attempts can be under way when it dies."""

DELAYS_S = "0.3,0.5,0.7,1,1,2,2,3,3"
"""In place of the schedule of three days."""

SETTINGS = {"RHAPSODE_WEBHOOK_ALLOW_PRIVATE": "loopback", "RHAPSODE_WEBHOOK_DELAYS_S": DELAYS_S}

FAILS, LOSES = 0.2, 0.05


def test_rows_19_and_24_killing_the_deliverer_loses_no_webhook_and_changes_none(
    start_system: StartSystem, num_jobs: int, seed: int, report: Report
) -> None:
    """It dies between a receiver's answer and its record, at every sixtieth: that is what at least once means."""
    jobs, log = standard_load(max(num_jobs, AT_LEAST_JOBS), seed), FaultLog()
    system = start_system(**SETTINGS, RHAPSODE_FAILPOINT=f"hook.after_post:kill:{POSTS_A_LIFE}")
    with receiving(FAILS, LOSES, seed) as receiver:
        for tenant in TENANTS:
            _register(system, receiver, tenant)
        begun_s = time.monotonic()
        load = Load(system, jobs)
        with load.running():
            load.wait_until(1.0)
        outcomes = load.outcomes()
        system.eventually(lambda: len(receiver.events) >= len(jobs), 120)
        # What was taken and never answered comes once more.
        system.eventually(lambda: _pending(system) == 0, 60)
        wall_s = time.monotonic() - begun_s
        deaths = system.restarts(processes.HOOKS_WORKER)
        for _ in range(deaths):
            log.struck("kill -9 hooks worker")
        figures = collect("19, 24 kill -9 hooks worker", seed, system, outcomes, log, wall_s)
        report(figures.line())
        report(
            f"19, 24 webhooks: jobs {len(jobs)}, posts {receiver.posts}, answered 500 {receiver.refused}, "
            f"never answered {receiver.lost}, webhooks lost {len(jobs) - len(_jobs_told(receiver))}, distinct ids per "
            f"job > 1: {len(receiver.events) - len(_jobs_told(receiver))}, ids with two bodies "
            f"{sum(len(bodies) > 1 for bodies in receiver.bodies.values())}, duplicates {receiver.duplicates}"
        )

    check_standard_pass(figures, system, outcomes)
    assert _jobs_told(receiver) == {outcome.job_id for outcome in outcomes}
    assert len(receiver.events) == len(receiver.bodies) == len(jobs)
    assert all(len(bodies) == 1 for bodies in receiver.bodies.values())
    assert {event.type for event in receiver.events.values()} == {"job.succeeded"}
    assert deaths >= len(jobs) // POSTS_A_LIFE - 1
    assert receiver.duplicates <= receiver.lost + deaths * THREADS


def test_row_39_a_job_past_its_deadline_is_told_of_once(start_system: StartSystem, seed: int, report: Report) -> None:
    system = start_system(**SETTINGS, RHAPSODE_FAKE_STEP_S="0.5")
    tenant = TENANTS[0]
    with receiving(0.0, 0.0, seed) as receiver:
        endpoint = _register(system, receiver, tenant)
        with _client(system, tenant) as http:
            soon = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3))
            body = {"input": {"text": "A sentence that takes long. " * 20}, "voice": "ada", "deadline": soon}
            job = http.post("/v1/jobs", json=body).json()["id"]
            system.eventually(lambda: len(receiver.events) == 1, 60)
            ended_s = time.monotonic()
            system.eventually(lambda: system.leases() == 0, 60)
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


def _jobs_told(receiver: Receiver) -> set[str]:
    return {str(event.data["job"]["id"]) for event in receiver.events.values()}  # type: ignore[index,call-overload]


def _client(system: RunningSystem, tenant: str) -> httpx.Client:
    headers = {"Authorization": f"Bearer {api_key(tenant)}"}
    return httpx.Client(base_url=system.url, headers=headers, timeout=30, trust_env=False)
