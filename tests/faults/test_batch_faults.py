"""A batch under kill -9 of every process: each line is one job, its result is its own, and none is left over."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections import Counter
from typing import Any

import httpx
import pytest

from rhapsode.stack import processes
from tests.faults.conftest import Report, StartSystem
from tests.faults.figures import FaultLog
from tests.faults.load import NarrationJob, standard_load
from tests.faults.system import TENANTS, Leftovers, RunningSystem, api_key

pytestmark = [pytest.mark.faults, pytest.mark.timeout(1800)]

AT_LEAST_LINES = 160
VICTIMS = (processes.API, processes.CPU_WORKER, processes.GPU_WORKER, processes.JANITOR, processes.VALKEY)
PATIENCE_S = 600


def test_a_batch_survives_the_death_of_every_process(
    start_system: StartSystem, num_jobs: int, seed: int, report: Report
) -> None:
    lines = [job for job in standard_load(max(num_jobs, AT_LEAST_LINES), seed) if len(job.text) < 250]
    rounds = max(1, num_jobs // 500)
    system, log, begun_s = start_system(), FaultLog(), time.monotonic()
    dice = random.Random(seed)
    body = "\n".join(json.dumps({"custom_id": f"line {job.number}", **job.body()}) for job in lines).encode()
    headers = {"Content-Type": "application/jsonl", "Idempotency-Key": f"batch-{seed}"}
    batch = _insist(system, "POST", "/v1/batches", headers, body).json()["id"]

    victims = dice.sample(VICTIMS * rounds, len(VICTIMS) * rounds)
    for number, victim in enumerate(victims):
        _until_ended(system, batch, len(lines) * (number + dice.uniform(0.1, 0.6)) / (len(victims) + 0.5))
        pid = system.pid(victim)
        os.kill(pid, signal.SIGKILL)
        log.struck(f"kill -9 {victim}")
        system.wait_replaced(victim, pid)
    _until_ended(system, batch, len(lines))

    # The same order again is the same batch.
    assert _insist(system, "POST", "/v1/batches", headers, body).json()["id"] == batch
    results = [
        json.loads(line) for line in _insist(system, "GET", f"/v1/batches/{batch}/results").text.splitlines() if line
    ]
    ended = _insist(system, "GET", f"/v1/batches/{batch}").json()
    wrong = [job.number for job in lines[:: max(1, len(lines) // 60)] if not _sounds_right(system, job, results)]
    faults = ", ".join(f"{count} x {kind}" for kind, count in log.faults.items())
    report(
        f"batch: lines {len(lines)}, faults {faults}, jobs {len(system.job_ids()) - 1}, "
        f"succeeded {ended['counts']['succeeded']}, lines without a result "
        f"{len(lines) - len({each['custom_id'] for each in results})}, wrong bytes {len(wrong)}, "
        f"re-runs {system.claims_beyond_first()}, wall {time.monotonic() - begun_s:.0f} s, seed {seed}"
    )
    assert Counter(each["custom_id"] for each in results) == Counter(f"line {job.number}" for job in lines)
    assert ended["state"] == "succeeded", ended
    assert ended["counts"]["succeeded"] == len(lines)
    assert len(system.job_ids()) == len(lines) + 1
    assert wrong == []
    assert system.leftovers() == Leftovers((), 0, 0, 0, 0)


def _until_ended(system: RunningSystem, batch: str, num_lines: float) -> None:
    """Until so many lines have an end."""

    def is_so() -> bool:
        counts = _insist(system, "GET", f"/v1/batches/{batch}").json()["counts"]
        return counts["succeeded"] + counts["failed"] + counts["cancelled"] + counts["expired"] >= num_lines

    system.eventually(is_so, PATIENCE_S)


def _sounds_right(system: RunningSystem, job: NarrationJob, results: list[dict[str, Any]]) -> bool:
    """Every byte, of a share of the lines: fetching is what takes time."""
    (result,) = (each for each in results if each["custom_id"] == f"line {job.number}")
    answer = _insist(system, "GET", f"/v1/jobs/{result['job_id']}/artifacts/narration.wav")
    return job.has_sound(answer.content)


def _insist(
    system: RunningSystem, method: str, path: str, headers: dict[str, str] | None = None, body: bytes = b""
) -> httpx.Response:
    """The first answer that is not a broken connection or "come again"."""
    until_s = time.monotonic() + PATIENCE_S
    key = {"Authorization": f"Bearer {api_key(TENANTS[0])}"}
    while True:
        try:
            answer = httpx.request(
                method,
                f"{system.url}{path}",
                headers=key | (headers or {}),
                content=body,
                timeout=30,
                follow_redirects=True,
                trust_env=False,
                verify=False,
            )
        except httpx.TransportError:
            answer = None
        if answer is not None and answer.status_code not in (409, 429, 503):
            assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text[:500]}"
            return answer
        assert time.monotonic() < until_s, "the API does not come back"
        time.sleep(0.05)
