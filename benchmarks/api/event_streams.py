"""How many listeners one API process serves: every one follows the same job over SSE while its segments finish.

A worker's part is played by hand: a segment is committed every so often, and every listener notes when it hears of it.
Told: how late the events come, what the API computes for each event and listener, and its memory for a listener.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx

from benchmarks.api.served_api import ServedApi, served_api
from benchmarks.process_figures import memory_kib
from rhapsode.bench.statistics import percentile
from storage.ids import WorkQueue
from storage.job_store.store import JobStore
from storage.jobs.work_items import ClaimedItem, PlanResult, WorkerIdentity
from storage.jobs.work_queues import CPU_QUEUE, speech_queue
from storage.segments.results import SegmentReport
from tests.run_guard import guarded_run

WORKER = WorkerIdentity("benchmark", "1")
LEASE_S = 600.0
PATIENCE_S = 60.0


@dataclass
class Listener:
    """When it heard of each segment, on the clock of this machine."""

    heard_s: dict[int, float] = field(default_factory=dict[int, float])
    is_listening: asyncio.Event = field(default_factory=asyncio.Event)

    async def follow(self, port: int, path: str) -> None:
        """Over a bare socket: a richer client would measure itself. Chunk sizes stand on lines of their own."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
        writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n".encode())
        try:
            while line := await reader.readline():
                if line.startswith(b"data:"):
                    self._take(json.loads(line.removeprefix(b"data:")))
        finally:
            writer.close()

    def _take(self, event: dict[str, Any]) -> None:
        self.is_listening.set()
        if event["type"] == "job.segment.completed":
            self.heard_s[event["data"]["detail"]["segment"]] = time.time()


async def main() -> None:
    arguments = _parser().parse_args()
    _allow_connections(max(arguments.listeners))
    print(
        f"{'listeners':>9} {'events':>7} {'p50 ms':>8} {'p99 ms':>8} {'CPU us':>8} {'KiB':>6}   (CPU of the API for an"
    )
    print(f"{'':>58}   event and listener, memory for a listener)")
    for listeners in arguments.listeners:
        with guarded_run() as folder, served_api(folder) as api:
            print(await _measure(api, listeners, arguments.segments, arguments.interval_ms / 1000))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--listeners", type=int, nargs="+", default=[1, 100, 500], help="streams at the same time")
    parser.add_argument("--segments", type=int, default=40, help="segments that finish in each round")
    parser.add_argument("--interval-ms", type=float, default=250, help="between two of them")
    return parser


async def _measure(api: ServedApi, listeners: int, segments: int, interval_s: float) -> str:
    jobs = JobStore(api.state, window=segments)
    job, items = _start_job(api, jobs, segments)
    before_kib, crowd = memory_kib(api.pid), [Listener() for _ in range(listeners)]
    streams = [asyncio.create_task(each.follow(api.port, f"/v1/jobs/{job}/events")) for each in crowd]
    try:
        await _until(lambda: all(each.is_listening.is_set() for each in crowd), "be listening")
        grown_kib, begun_cpu_s = memory_kib(api.pid) - before_kib, api.cpu_s()
        told_s = [await _commit(jobs, item, interval_s) for item in items]
        await _until(lambda: all(len(each.heard_s) == segments for each in crowd), "have heard everything")
        cpu_s = api.cpu_s() - begun_cpu_s
    finally:
        for stream in streams:
            stream.cancel()
        await asyncio.gather(*streams, return_exceptions=True)
    late_ms = [1000 * (each.heard_s[index] - told_s[index]) for each in crowd for index in range(segments)]
    p50, p99 = percentile(late_ms, 0.5), percentile(late_ms, 0.99)
    cpu_us = 1e6 * cpu_s / len(late_ms)
    return f"{listeners:>9} {len(late_ms):>7} {p50:>8.1f} {p99:>8.1f} {cpu_us:>8.0f} {grown_kib / listeners:>6.0f}"


def _start_job(api: ServedApi, jobs: JobStore, segments: int) -> tuple[str, list[ClaimedItem]]:
    """A planned job whose segments are all under lease, in their order."""
    url = f"http://127.0.0.1:{api.port}/v1/jobs"
    answer = httpx.post(url, json={"input": {"text": "A text that is planned by hand."}}, timeout=PATIENCE_S)
    answer.raise_for_status()
    plan = _claim(jobs, CPU_QUEUE)
    jobs.commit_plan(plan.lease, PlanResult("plan", segments, 5_000 * segments))
    return answer.json()["id"], [_claim(jobs, speech_queue("small")) for _ in range(segments)]


def _claim(jobs: JobStore, queue: WorkQueue) -> ClaimedItem:
    item = jobs.claim(queue, WORKER, LEASE_S).item
    if item is None:
        raise SystemExit(f"nothing to claim in {queue}")
    return item


async def _commit(jobs: JobStore, item: ClaimedItem, interval_s: float) -> float:
    """Finish a segment; gives when."""
    await asyncio.sleep(interval_s)
    told_s = time.time()
    jobs.commit_segment(item.lease, SegmentReport(120_000, 24_000, 60, hashlib.sha256().hexdigest(), "eos", 500))
    return told_s


async def _until(is_so: Callable[[], bool], what: str) -> None:
    until_s = time.monotonic() + PATIENCE_S
    while not is_so():
        if time.monotonic() > until_s:
            raise SystemExit(f"not all listeners can be said to {what} after {PATIENCE_S:.0f} s")
        await asyncio.sleep(0.02)


def _allow_connections(listeners: int) -> None:
    """Two sockets for a listener in the API, which inherits this limit: its client's and Redis's."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 3 * listeners + 200
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted, hard), hard))


if __name__ == "__main__":
    asyncio.run(main())
