"""What one API process pays for clients that wait: each holds the answer of a job of its own (`Prefer: wait`).

Told: memory and CPU of the API for a waiter while nothing happens, and connections of Redis; then jobs end, one every
so often, and it is told how late their clients hear of it; then the API is told to stop, and it is told how long that
takes and how many of those who still wait are answered. Sockets are bare: a richer client would measure itself.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import time

from benchmarks.api.served_api import ServedApi, served_api
from benchmarks.process_figures import has_ended, memory_kib
from rhapsode.bench.statistics import percentile
from rhapsode.contract.jobs.narration import Narration
from rhapsode.contract.jobs.states import Priority
from storage.ids import JobId, TenantId, new_job_id
from storage.job_store.store import JobStore
from storage.jobs.submissions import AdmissionLimits, Submission
from storage.narration.spec import NarrationSpec
from storage.runtime.config.file_limit import allow_files
from tests.run_guard import guarded_run

TENANT = TenantId("local")
SPARE_FILES = 300
HELD_S = 60
FEW = 100
"""Requests that are sent at the same time at the beginning."""


async def main() -> None:
    arguments = _parser().parse_args()
    allow_files(max(arguments.waiters) + SPARE_FILES)
    os.environ["RHAPSODE_MAX_CONNECTIONS"] = str(max(arguments.waiters) + SPARE_FILES)
    names = ("waiters", "KiB", "CPU %", "clients", "ends", "p50 ms", "p99 ms", "CPU ms", "waited", "given", "stop s")
    print(" ".join(f"{name:>7}" for name in names))
    print("        (memory for a waiter, CPU of all and clients of Redis while nothing happens; the ends; the stop)")
    for waiters in arguments.waiters:
        with guarded_run() as folder, served_api(folder) as api:
            print(await _measure(api, waiters, arguments.ends, arguments.interval_ms / 1000, arguments.idle_s))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--waiters", type=int, nargs="+", default=[1, 1000, 10_000], help="clients that wait")
    parser.add_argument("--ends", type=int, default=300, help="jobs that end, at most")
    parser.add_argument("--interval-ms", type=float, default=25, help="between two of them")
    parser.add_argument("--idle-s", type=float, default=5, help="how long nothing happens before")
    return parser


async def _measure(api: ServedApi, waiters: int, ends: int, interval_s: float, idle_s: float) -> str:
    jobs = JobStore(api.state, limits=AdmissionLimits(tenant_jobs=10**6, total_jobs=10**6))
    ids = [_submit(jobs) for _ in range(waiters)]
    # What the process has once for all is there before the first is counted.
    await asyncio.gather(*(_get(api.port, ids[0]) for _ in range(FEW)))
    before_kib = memory_kib(api.pid)
    waiting = {job: await _wait(api.port, job) for job in ids}
    await _until_all_wait(api, waiters)
    grown_kib, begun_cpu_s, begun_s = memory_kib(api.pid) - before_kib, api.cpu_s(), time.monotonic()
    await asyncio.sleep(idle_s)
    idle = (api.cpu_s() - begun_cpu_s) / (time.monotonic() - begun_s)
    clients, begun_cpu_s = len(api.state.client_list()), api.cpu_s()
    late_ms: list[float] = []
    for job in ids[:ends]:
        heard = asyncio.create_task(_heard_s(waiting[job][0]))
        await asyncio.sleep(interval_s)
        told_s = time.time()
        jobs.cancel(TENANT, job)
        late_ms.append(1000 * (await heard - told_s))
    cpu_ms = 1000 * (api.cpu_s() - begun_cpu_s) / len(late_ms)
    waited, given, stop_s = await _stopped(api, [reader for reader, _ in list(waiting.values())[len(late_ms) :]])
    for _, writer in waiting.values():
        writer.close()
    p50, p99 = percentile(late_ms, 0.5), percentile(late_ms, 0.99)
    return (
        f"{waiters:>7} {grown_kib / waiters:>7.1f} {100 * idle:>7.2f} {clients:>7} {len(late_ms):>7} "
        f"{p50:>7.1f} {p99:>7.1f} {cpu_ms:>7.2f} {waited:>7} {given:>7} {stop_s:>7.2f}"
    )


async def _stopped(api: ServedApi, waiting: list[asyncio.StreamReader]) -> tuple[int, int, float]:
    """How many waited, how many of them were answered, and seconds until the process had ended."""
    begun_s = time.monotonic()
    os.kill(api.pid, signal.SIGTERM)
    answers = await asyncio.gather(*(reader.read() for reader in waiting), return_exceptions=True)
    given = sum(isinstance(answer, bytes) and answer.startswith(b"HTTP/1.1 200 ") for answer in answers)
    while not has_ended(api.pid):
        await asyncio.sleep(0.01)
    return len(waiting), given, time.monotonic() - begun_s


def _submit(jobs: JobStore) -> JobId:
    job_id = new_job_id()
    spec = NarrationSpec(Narration(model="small", voice="alice"))
    jobs.submit(
        Submission(
            id=job_id,
            tenant=TENANT,
            spec=spec,
            priority=Priority.NORMAL,
            input_key=f"jobs/{TENANT}/{job_id}/input.txt",
            input_chars=60,
            estimated_audio_ms=4_000,
            retention_s=3600,
        )
    )
    return job_id


async def _get(port: int, job: JobId) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET /v1/jobs/{job} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    await reader.read()
    writer.close()


async def _wait(port: int, job: JobId) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=4096)
    writer.write(f"GET /v1/jobs/{job} HTTP/1.1\r\nHost: localhost\r\nPrefer: wait={HELD_S}\r\n\r\n".encode())
    return reader, writer


async def _heard_s(reader: asyncio.StreamReader) -> float:
    await reader.readline()
    return time.time()


async def _until_all_wait(api: ServedApi, waiters: int) -> None:
    """Until every request has come in, as the process' own figure of those under way says, and has been seen to."""
    give_up_s = time.monotonic() + HELD_S
    while await _under_way(api.port) <= waiters:
        if time.monotonic() > give_up_s:
            raise SystemExit(f"this machine takes longer to begin {waiters} requests than the first of them is held")
        await asyncio.sleep(0.1)
    await asyncio.sleep(0.5)


async def _under_way(port: int) -> int:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
    writer.write(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    text = (await reader.read()).decode()
    writer.close()
    name = "rhapsode_http_requests_in_progress "
    return int(float(next(line for line in text.splitlines() if line.startswith(name)).removeprefix(name)))


if __name__ == "__main__":
    asyncio.run(main())
