"""The restore drills of the runbook: Redis is lost and comes back from a backup older than half of the jobs, or it
comes back empty.
"""

from __future__ import annotations

import re
import shutil
import time
from datetime import datetime
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
import redis

from storage.database.connections import open_artifacts
from storage.recovery.journal import decode_lines, journal_keys
from storage.segments.packs import INDEX_BYTES, decode_index
from tests.faults.conftest import Report, StartSystem
from tests.faults.load import Load, NarrationJob, standard_load
from tests.faults.receiver import Receiver, receiving
from tests.faults.system import TENANTS, RunningSystem, api_key

pytestmark = [pytest.mark.faults, pytest.mark.timeout(900)]

JOBS = 16
SETTINGS = {"RHAPSODE_WEBHOOK_ALLOW_PRIVATE": "loopback", "RHAPSODE_OPERATOR": TENANTS[0]}
RECONCILED = "Redis is whole again"
LONG_TEXT = " ".join(f"The lantern number {number} was never lit again by anybody." for number in range(60))


def test_after_a_restore_every_job_is_known_and_no_stored_segment_is_spoken_again(
    start_system: StartSystem, data_dir: Path, seed: int, report: Report
) -> None:
    system = start_system(**SETTINGS, RHAPSODE_FAKE_STEP_S="0.02")
    jobs = standard_load(2 * JOBS, seed)
    with receiving(0.0, 0.0, seed) as receiver:
        for tenant in TENANTS:
            register(system, receiver, tenant)
        run(system, jobs[:JOBS])
        long_job = submit(system, NarrationJob(9_999, TENANTS[0], LONG_TEXT, 7))
        backup = back_up(system, data_dir / "backup")
        before = system.job_ids()
        run(system, jobs[JOBS:])
        system.eventually(lambda: len(stored_segments(system, long_job)) >= 8, 60)
        accepted = system.job_ids()
        system.eventually(lambda: accepted - before <= journalled(system), 10)
        system.kill_everything()
        spoken = {name for job in accepted for name in stored_segments(system, job)}

        put_back(system, backup)
        # Everything at once, as a supervisor does: nobody reconciles by hand.
        system.start()
        system.eventually(lambda: len(system.log_events(RECONCILED)) == 1, 60)
        (reconciled,) = system.log_events(RECONCILED)
        with system.redis() as client:
            active = "{rhapsode}:active"
            system.eventually(lambda: client.scard(active) == 0, 120)
        system.eventually(lambda: len(receiver.jobs_told()) == len(accepted), 60)
        since_us = int(datetime.fromisoformat(str(reconciled["timestamp"])).timestamp() * 1e6)
        again = spoken_again(system, accepted, spoken, since_us)
        events = [event for event in receiver.events.values() if event.type == "job.succeeded"]
        report(
            f"10 restore: jobs {len(accepted)}, unknown to the backup {len(accepted - before)}, brought back "
            f"{reconciled['jobs_restored']}, marked {reconciled['jobs_marked']}, segments in the store "
            f"{len(spoken)}, spoken again {len(again)}, webhook ids per job > 1: "
            f"{len(events) - len(receiver.jobs_told())}"
        )

        assert system.job_ids() == accepted
        assert reconciled["jobs_restored"] == len(accepted - before) >= JOBS
        assert again == set()
        assert len(events) == len(receiver.jobs_told())
        assert run(system, jobs[:JOBS]) == before - {long_job}, "idempotency keys of the backup still hold"
        assert system.leftovers().drift == ()


@pytest.mark.long
def test_an_empty_redis_is_filled_from_the_store_once_an_operator_says_so(
    start_system: StartSystem, seed: int, report: Report
) -> None:
    system = start_system(**SETTINGS, RHAPSODE_FAKE_STEP_S="0.02")
    finished = run(system, standard_load(JOBS, seed))
    long_job = submit(system, NarrationJob(9_999, TENANTS[0], LONG_TEXT, 7))
    system.eventually(lambda: len(stored_segments(system, long_job)) >= 8, 60)
    system.eventually(lambda: {long_job} <= journalled(system), 10)
    system.kill_everything()
    spoken = {name for job in (*finished, long_job) for name in stored_segments(system, job)}

    shutil.rmtree(aof_of(system))
    since_us = time.time_ns() // 1000
    system.start()
    system.eventually(lambda: bool(system.log_events("nothing is claimed")), 30)
    later = submit(system, NarrationJob(10_000, TENANTS[1], "It waits for the operator as well.", 8))
    # Longer than a claim takes, and than the janitor between two looks.
    time.sleep(6)
    assert system.claims() == 0
    (step,) = reconcile(system)
    with system.redis() as client:
        system.eventually(lambda: client.scard("{rhapsode}:active") == 0, 120)
    again = spoken_again(system, finished | {long_job}, spoken, since_us)
    report(
        f"10 empty Redis: jobs {len(finished) + 1}, brought back {step['jobs_restored']}, segments in the store "
        f"{len(spoken)}, spoken again {len(again)}"
    )

    assert step["jobs_restored"] == len(finished) + 1
    assert system.job_ids() == finished | {long_job, later}
    assert {state(system, job) for job in system.job_ids()} == {"succeeded"}
    assert again == set()
    assert system.leftovers().drift == ()


def run(system: RunningSystem, jobs: list[NarrationJob]) -> set[str]:
    """All of them to their ends, every byte compared."""
    load = Load(system, jobs)
    with load.running():
        load.wait_until(1.0)
    outcomes = load.outcomes()
    assert [outcome.error for outcome in outcomes if outcome.error] == [], system.last_words()
    return {outcome.job_id for outcome in outcomes}


def submit(system: RunningSystem, job: NarrationJob) -> str:
    headers = {"Authorization": f"Bearer {api_key(job.tenant)}"}
    answer = httpx.post(f"{system.url}/v1/jobs", json=job.body(), headers=headers, timeout=30)
    assert answer.status_code == 202, answer.text
    return answer.json()["id"]


def register(system: RunningSystem, receiver: Receiver, tenant: str) -> None:
    headers = {"Authorization": f"Bearer {api_key(tenant)}"}
    made = httpx.post(
        f"{system.url}/v1/webhook-endpoints", json={"url": f"{receiver.url}/{tenant}"}, headers=headers, timeout=30
    )
    receiver.secrets[f"/{tenant}"] = made.json()["secret"]


def back_up(system: RunningSystem, folder: Path) -> Path:
    """As the runbook says."""
    with system.redis() as client:
        client.bgrewriteaof()
        system.eventually(lambda: not rewrites(client), 30)
        client.config_set("auto-aof-rewrite-percentage", 0)
        # What was written a moment ago is in the file within a second.
        time.sleep(1.1)
        shutil.copytree(aof_of(system), folder)
        client.config_set("auto-aof-rewrite-percentage", 100)
    return folder


def rewrites(client: redis.Redis) -> bool:
    told = cast("dict[str, int]", client.info("persistence"))
    return bool(told["aof_rewrite_in_progress"] or told["aof_rewrite_scheduled"])


def put_back(system: RunningSystem, backup: Path) -> None:
    shutil.rmtree(aof_of(system))
    shutil.copytree(backup, aof_of(system))


def aof_of(system: RunningSystem) -> Path:
    return system.data_dir.valkey / "appendonlydir"


def journalled(system: RunningSystem) -> set[str]:
    artifacts = open_artifacts(system.storage_settings)
    return {
        str(each.id)
        for key in journal_keys(artifacts, "rhapsode", None)
        for each in decode_lines(key, artifacts.get(key))
    }


def reconcile(system: RunningSystem) -> list[dict[str, Any]]:
    """As `rhapsode reconcile`."""
    headers = {"Authorization": f"Bearer {api_key(TENANTS[0])}"}
    steps: list[dict[str, Any]] = []
    while not steps or steps[-1]["next_cursor"]:
        body = {"cursor": steps[-1]["next_cursor"]} if steps else {}
        answer = httpx.post(f"{system.url}/v1/admin/reconcile", json=body, headers=headers, timeout=60)
        assert answer.status_code == 200, answer.text
        steps.append(answer.json())
    return steps


def state(system: RunningSystem, job: str) -> str:
    with system.redis() as client:
        return str(client.hget("{rhapsode}:job:" + job, "state"))


def stored_segments(system: RunningSystem, job: str) -> set[str]:
    """job/index of every segment that lies in the store."""
    tenant = next((tenant for tenant in TENANTS if system.objects(f"jobs/{tenant}/{job}/")), None)
    names = system.objects(f"jobs/{tenant}/{job}/") if tenant else []
    alone = {int(match[1]) for name in names if (match := re.search(r"/(\d{6})-\d+\.safetensors$", name))}
    store = open_artifacts(system.storage_settings)
    indexes = [decode_index(store.get_range(name, 0, INDEX_BYTES)) for name in names if name.endswith(".pack")]
    packed = {segment.index for index in indexes for segment in index}
    return {f"{job}/{number}" for number in alone | packed}


def spoken_again(system: RunningSystem, jobs: set[str], spoken: set[str], since_us: int) -> set[str]:
    """Segments that lay in the store and whose result was spoken since then.

    since_us: Unix time, which every fence has in it.
    """
    again: set[str] = set()
    with system.redis() as client:
        for job in jobs:
            results = cast("dict[str, str]", client.hgetall("{rhapsode}:results:" + job))
            for item, line in results.items():
                if f"{job}/{item}" not in spoken:
                    continue
                fence, _, _, _, is_copy, *_ = line.removeprefix("D").split(":")
                if int(fence) > since_us and is_copy != "1":
                    again.add(f"{job}/{item}")
    return again
