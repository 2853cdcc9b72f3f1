"""What a scrape of the API costs with unfinished jobs in Redis: time, bytes, and Redis' own part.

    python benchmarks/api/metrics.py --jobs 1000 --scrapes 50

A real API over a real Valkey on this machine; every job has claimable segments, of 20 tenants.
"""

from __future__ import annotations

import argparse
import time

import httpx
import redis

from benchmarks.api.served_api import ServedApi, served_api
from rhapsode.bench.statistics import percentile
from rhapsode.contract.jobs.narration import Narration
from rhapsode.contract.jobs.states import Priority
from storage.ids import TenantId, new_job_id
from storage.job_store.store import JobStore
from storage.jobs.submissions import Submission
from storage.jobs.work_items import PlanResult, WorkerIdentity
from storage.jobs.work_queues import CPU_QUEUE
from storage.narration.spec import NarrationSpec
from storage.tenants.api_keys import ApiKeyStore, Scope
from tests.run_guard import guarded_run

TENANTS = 20
SEGMENTS = 20
WORKER = WorkerIdentity("benchmark", "first")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1_000)
    parser.add_argument("--scrapes", type=int, default=50)
    arguments = parser.parse_args()
    with guarded_run() as folder, served_api(folder) as api:
        fill(JobStore(api.state, api.settings.key_prefix), arguments.jobs)
        admin = ApiKeyStore(api.state, api.settings.key_prefix).create(
            TenantId("operator"), "scrapes", frozenset({Scope.ADMIN}), None
        )
        measure(api, admin.secret, arguments.scrapes, arguments.jobs)


def fill(jobs: JobStore, number: int) -> None:
    for count in range(number):
        job = new_job_id()
        submission = Submission(
            id=job,
            tenant=TenantId(f"tenant-{count % TENANTS}"),
            spec=NarrationSpec(Narration(model="small", voice="alice")),
            priority=Priority.NORMAL,
            input_key=f"jobs/{job}/input.txt",
            input_chars=2_000,
            estimated_audio_ms=120_000,
            retention_s=3600,
        )
        jobs.submit(submission)
        item = jobs.claim(CPU_QUEUE, WORKER, 30).item
        assert item is not None
        jobs.commit_plan(item.lease, PlanResult("plan", SEGMENTS, 120_000))


def measure(api: ServedApi, secret: str, scrapes: int, jobs: int) -> None:
    url, headers = f"http://127.0.0.1:{api.port}", {"Authorization": f"Bearer {secret}"}
    with httpx.Client(base_url=url, headers=headers, timeout=30) as http:
        answer = http.get("/metrics").raise_for_status()
        before_us, before_s = function_us(api.state), api.cpu_s()
        took: list[float] = []
        for _ in range(scrapes):
            begun_s = time.perf_counter()
            answer = http.get("/metrics").raise_for_status()
            took.append((time.perf_counter() - begun_s) * 1000)
        cpu_ms = (api.cpu_s() - before_s) / scrapes * 1000
        in_redis_ms = (function_us(api.state) - before_us) / scrapes / 1000
    print(f"unfinished jobs               {jobs}")
    print(f"scrape, p50 / p99             {percentile(took, 0.5):.1f} / {percentile(took, 0.99):.1f} ms")
    print(f"CPU of the API a scrape       {cpu_ms:.1f} ms")
    print(f"functions in Redis a scrape   {in_redis_ms:.2f} ms")
    print(f"bytes                         {len(answer.content)}")
    print(f"samples                       {sum(not line.startswith('#') for line in answer.text.splitlines())}")


def function_us(client: redis.Redis) -> float:
    told = client.info("commandstats")
    return float(told.get("cmdstat_fcall", {}).get("usec", 0))


if __name__ == "__main__":
    main()
