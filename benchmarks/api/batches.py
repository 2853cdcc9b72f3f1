"""What a batch costs: a file of lines into a served API, then jobs made of them by one thread of a CPU worker.

    python benchmarks/api/batches.py [--lines 100000]

A real uvicorn process, Valkey (append-only file) and folder store. The submit lasts from the first byte of the upload
to the 202, every line checked; memory is the high-water mark of the API's process. The worker's part is the real one of
a chunk, without its claim; no worker plans or speaks the jobs. Redis bytes are what each chunk added, by the
jobs it made.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import redis

from benchmarks.api.served_api import ServedApi, served_api
from benchmarks.process_figures import memory_kib, peak_memory_kib
from rhapsode import Batch, Rhapsode
from storage.database.connections import connect_redis, open_artifacts
from storage.job_store.plan_cache import PlanCache, VoicePlanCache
from storage.job_store.store import JobStore
from storage.jobs.batches import BatchSpec
from storage.jobs.submissions import AdmissionLimits
from storage.jobs.work_items import ClaimedItem, WorkerIdentity
from storage.jobs.work_queues import CPU_QUEUE
from storage.queue.celery_queue import TicketQueue, create_celery
from storage.runtime.config.settings import StorageSettings
from storage.voices.store import VoiceStore
from tests.run_guard import guarded_run
from worker.items.batches import run_batch_item
from worker.items.leases.keeper import HeldLease, LeaseKeeper
from worker.items.leases.quarantine import QuarantineGate
from worker.services import WorkerServices

SENTENCE = "The lamp in the hall was lit, and nobody could say who had come down to do it."
MAX_LINES = 100_000
LEASE_S = 3_600.0
AUDIO_MS = 10**12
ROOM = AdmissionLimits(tenant_jobs=2 * MAX_LINES, tenant_audio_ms=AUDIO_MS, total_jobs=2 * MAX_LINES)
"""For all jobs at once: what is measured is the making, not the waiting for room."""


@dataclass(frozen=True, slots=True)
class Submit:
    """memory in MiB: of the API's process before, and its high-water mark after."""

    seconds: float
    resident_before_mib: float
    resident_peak_mib: float


@dataclass(frozen=True, slots=True)
class Making:
    jobs: int
    seconds: float
    redis_bytes: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=MAX_LINES)
    num_lines = parser.parse_args().lines
    if not 0 < num_lines <= MAX_LINES:
        parser.error(f"--lines: from 1 to {MAX_LINES:,}")
    with guarded_run() as folder, served_api(folder) as api:
        file = folder / "batch.jsonl"
        _write_lines(file, num_lines)
        batch, submit = _submit(api, file)
        print(f"submit of {num_lines:,} lines, {file.stat().st_size / 1e6:.1f} MB: {submit.seconds:.2f} s")
        print(f"memory of the API: {submit.resident_before_mib:.0f} MiB before, {submit.resident_peak_mib:.0f} at most")
        made = _make_jobs(api)
        print(
            f"jobs made by one thread: {made.jobs:,} in {made.seconds:.2f} s, {made.jobs / made.seconds:.0f} a second"
        )
        print(f"Redis bytes of each: {made.redis_bytes / made.jobs:,.0f}")
        _require_all_made(api, batch)


def _write_lines(path: Path, num_lines: int) -> None:
    with path.open("w") as file:
        for number in range(num_lines):
            line = {"custom_id": f"clip {number}", "input": {"text": f"{SENTENCE} This is number {number}."}}
            file.write(json.dumps(line) + "\n")


def _submit(api: ServedApi, file: Path) -> tuple[Batch, Submit]:
    before = memory_kib(api.pid) / 1024
    with Rhapsode(f"http://127.0.0.1:{api.port}") as client:
        started = time.perf_counter()
        batch = client.batches.submit(file)
        seconds = time.perf_counter() - started
    return batch, Submit(seconds, before, peak_memory_kib(api.pid) / 1024)


def _make_jobs(api: ServedApi) -> Making:
    """Every chunk of the only batch. Jobs that are made come before further chunks: they are claimed and left alone."""
    num_bytes = chunks = 0
    seconds = 0.0
    with _worker(api.settings) as services:
        plan = _claim(services)
        spec = _batch_of(plan)
        run_batch_item(plan, spec, HeldLease(plan.lease, LEASE_S), services)
        while chunks < spec.num_shards:
            item = _claim(services)
            if not isinstance(item.spec, BatchSpec):
                continue
            before, started = _redis_bytes(api.state), time.perf_counter()
            run_batch_item(item, item.spec, HeldLease(item.lease, LEASE_S), services)
            seconds += time.perf_counter() - started
            num_bytes += _redis_bytes(api.state) - before
            chunks += 1
    return Making(spec.num_lines, seconds, num_bytes)


def _claim(services: WorkerServices) -> ClaimedItem:
    item = services.jobs.claim(CPU_QUEUE, services.identity, LEASE_S).item
    if item is None:
        raise SystemExit("nothing is ready")
    return item


def _batch_of(item: ClaimedItem) -> BatchSpec:
    if not isinstance(item.spec, BatchSpec):
        raise SystemExit(f"{item.lease.job} is no batch")
    return item.spec


def _require_all_made(api: ServedApi, batch: Batch) -> None:
    with Rhapsode(f"http://127.0.0.1:{api.port}") as client:
        counts = client.batches.get(batch).counts
    if counts.made != counts.total:
        raise SystemExit(f"{counts.made} of {counts.total} lines became jobs")


@contextmanager
def _worker(settings: StorageSettings) -> Generator[WorkerServices]:
    """The CPU lane's services."""
    artifacts = open_artifacts(settings)
    tickets = TicketQueue(create_celery(settings, "benchmark"))
    with connect_redis(settings) as state:
        jobs = JobStore(state, settings.key_prefix, limits=ROOM)
        yield WorkerServices(
            identity=WorkerIdentity("benchmark", "1"),
            queue=CPU_QUEUE,
            jobs=jobs,
            artifacts=artifacts,
            tickets=tickets,
            leases=LeaseKeeper(jobs, LEASE_S),
            plans=PlanCache(artifacts),
            voice_store=VoiceStore(state, settings.key_prefix),
            voice_plans=VoicePlanCache(artifacts),
            lease_s=LEASE_S,
            closing=threading.Event(),
            gate=QuarantineGate(),
        )
    tickets.close()


def _redis_bytes(state: redis.Redis) -> int:
    return int(cast("dict[str, int]", state.info("memory"))["used_memory"])


if __name__ == "__main__":
    main()
