"""What the job store costs: submits, claims and commits as a Python client sees them, and a long job's memory.

    python benchmarks/queue/job_store.py [--jobs 2000] [--segments 5000] [--slots 256]

Starts a Valkey of its own (append-only file, flushed every second) in a temporary folder, and counts its CPU: that of
all its threads, what the kernel does for them included.

One client alone does one call after the other. A worker then holds an item for each of its slots, looks for as many as
have ended, keeps each lease once, sends the tickets that it is told to, and commits from a thread for each item, while
another process follows the job's events: what a segment costs one Valkey, and how many of them it can take.
"""

from __future__ import annotations

import argparse
import hashlib
import time
from collections import Counter, deque
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

import redis
from pydantic import SecretStr

from rhapsode.bench.statistics import percentile
from rhapsode.contract.jobs.narration import Narration
from rhapsode.contract.jobs.states import Priority
from storage.database.embedded_valkey import EmbeddedRedis
from storage.database.keys import RedisKeys
from storage.ids import JobId, TenantId, WorkQueue, new_job_id
from storage.job_store.counter_audit import AUDIT_BATCH
from storage.job_store.leases import Look
from storage.job_store.store import JobStore
from storage.jobs.submissions import Submission
from storage.jobs.tickets import Tickets
from storage.jobs.work_items import ClaimedItem, PlanResult, WorkerIdentity
from storage.jobs.work_queues import CPU_QUEUE, speech_queue
from storage.narration.spec import NarrationSpec
from storage.queue.celery_queue import TicketQueue, create_celery
from storage.queue.worker_slots import WorkerSlots
from storage.runtime.config.settings import StorageSettings
from storage.segments.results import SegmentReport
from tests.run_guard import guarded_run
from worker.items.gpu_ticket import MOST_CLAIMED

TENANTS = 7
SEGMENT_AUDIO_MS = 12_000
WORKER = WorkerIdentity("benchmark", "1")
T = TypeVar("T")
GPU_QUEUE = speech_queue("small")


class Stopwatch:
    """Times of one kind of call, in milliseconds."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.times_ms: list[float] = []

    def run(self, call: Callable[[], T]) -> T:
        start = time.perf_counter()
        answer = call()
        self.times_ms.append((time.perf_counter() - start) * 1000)
        return answer

    def print_row(self) -> None:
        p50_ms, p99_ms = percentile(self.times_ms, 0.5), percentile(self.times_ms, 0.99)
        rate = 1000 * len(self.times_ms) / sum(self.times_ms)
        print(
            f"{self.name:<16} {len(self.times_ms):>6} calls {rate:>8.0f}/s   "
            f"p50 {p50_ms:.3f} ms   p99 {p99_ms:.3f} ms   max {max(self.times_ms):.1f} ms"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2_000)
    parser.add_argument("--segments", type=int, default=5_000)
    parser.add_argument("--slots", type=int, default=256)
    options = parser.parse_args()
    with (
        guarded_run() as folder,
        EmbeddedRedis(folder / "valkey") as server,
        redis.Redis.from_url(server.url, decode_responses=True) as client,
    ):
        store = JobStore(client)
        print(f"Valkey {client.info('server')['valkey_version']}, one client, one thread\n")
        measure_long_job(store, client, options.segments)
        settings = StorageSettings(
            redis_url=SecretStr(server.url),
            broker_url=SecretStr(server.broker_url),
            store=f"file://{folder}/store",
            url_secret=SecretStr("only-for-this-benchmark"),
        )
        measure_worker(
            store, client, TicketQueue(create_celery(settings, "benchmark")), options.segments, options.slots
        )
        measure_submits(store, client, options.jobs)


def measure_submits(store: JobStore, client: redis.Redis, num_jobs: int) -> None:
    submit, audit = Stopwatch("submit"), Stopwatch("audit step")
    for index in range(num_jobs):
        wanted = new_submission(TenantId(f"tenant-{index % TENANTS}"), SEGMENT_AUDIO_MS)
        submit.run(lambda wanted=wanted: store.submit(wanted))
    submit.print_row()
    print_server_times(client)
    for _ in range(10):
        steps = store.audit_steps(AUDIT_BATCH)
        while (found := audit.run(lambda steps=steps: next(steps, None))) is not None:
            assert not found
    audit.print_row()
    print(f"{'':<16} steps of an audit over {num_jobs} unfinished jobs")


def measure_long_job(store: JobStore, client: redis.Redis, num_segments: int) -> None:
    wanted = new_submission(TenantId("book"), num_segments * SEGMENT_AUDIO_MS)
    claim, committing, extend = Stopwatch("claim"), Stopwatch("commit_segment"), Stopwatch("extend 24")
    store.submit(wanted)
    plan = must_claim(store, CPU_QUEUE)
    opening = Stopwatch("commit_plan")
    opening.run(lambda: store.commit_plan(plan.lease, PlanResult("plan", num_segments, wanted.estimated_audio_ms)))
    print(f"commit_plan      {opening.times_ms[0]:.2f} ms for {num_segments} segments")
    held = [must_claim(store, GPU_QUEUE) for _ in range(24)]
    for _ in range(200):
        extend.run(lambda: store.extend([item.lease for item in held], 30))
    pid = int(client.info("server")["process_id"])
    busy_s = cpu_s(pid)
    while held:
        item = held.pop(0)
        committing.run(lambda item=item: commit(store, item))
        if (next_item := claim.run(lambda: store.claim(GPU_QUEUE, WORKER, 30)).item) is not None:
            held.append(next_item)
    for watch in (claim, committing, extend):
        watch.print_row()
    print_server_times(client)
    print_limit(client, pid, busy_s, num_segments)
    print_memory(client, wanted.id)
    store.cancel(wanted.tenant, wanted.id)


def measure_worker(store: JobStore, client: redis.Redis, tickets: TicketQueue, num_segments: int, slots: int) -> None:
    """A worker of so many slots, all of them busy, with one long job."""
    wanted = new_submission(TenantId("library"), num_segments * SEGMENT_AUDIO_MS)
    tickets.send(store.submit(wanted).tickets)
    plan = must_claim(store, CPU_QUEUE)
    WorkerSlots(client).announce(GPU_QUEUE, WORKER.name, slots)
    tickets.send(store.look_away(GPU_QUEUE, WORKER))
    result = PlanResult("plan", num_segments, wanted.estimated_audio_ms)
    tickets.send(store.commit_plan(plan.lease, result))
    pid = int(client.info("server")["process_id"])
    held, sent, looks, is_woken = deque[ClaimedItem](), 0, 0, True
    with followed(client, wanted.id) as heard, ThreadPoolExecutor(MOST_CLAIMED) as threads:
        print_server_times(client)
        busy_s, before = cpu_s(pid), calls_of(client)
        while True:
            room = min(MOST_CLAIMED, slots - len(held))
            claims = store.claim_several(Look(GPU_QUEUE, room, is_woken, is_last=False), WORKER, 30)
            is_woken, looks = False, looks + 1
            tickets.send(claims.tickets)
            sent += claims.tickets.total
            held.extend(claims.items)
            if claims.items and len(held) < slots:
                continue
            ending = [held.popleft() for _ in range(min(MOST_CLAIMED, len(held)))]
            if not ending:
                break
            store.extend([item.lease for item in ending], 30)
            for made in threads.map(partial(commit, store), ending):
                tickets.send(made)
                sent += made.total
        each_s = (cpu_s(pid) - busy_s) / num_segments
        calls = calls_of(client) - before
    print(f"a worker of {slots} slots, {MOST_CLAIMED} items at a time, {num_segments} segments of one job")
    print(
        f"{'':<16} {looks} looks, {sent} tickets, {heard[0]} events heard, {calls / num_segments:.2f} calls a segment"
    )
    print(f"{'':<16} {each_s * 1e6:.0f} us of the server's CPU a segment, at most {1 / each_s:,.0f}/s")
    print_inner_commands(client, num_segments)
    store.cancel(wanted.tenant, wanted.id)


def commit(store: JobStore, item: ClaimedItem) -> Tickets:
    digest = hashlib.sha256(item.lease.item.encode()).hexdigest()
    return store.commit_segment(item.lease, SegmentReport(288_000, 24_000, 220, digest, "eos", 900))


@contextmanager
def followed(client: redis.Redis, job: JobId) -> Generator[list[int]]:
    """How many events of the job were heard so far, by a connection that is told of them as an API process is."""
    heard = [0]

    def note(_: object) -> None:
        heard[0] += 1

    events = client.pubsub(ignore_subscribe_messages=True)
    events.subscribe(**{RedisKeys("rhapsode").events(job): note})
    thread = events.run_in_thread(daemon=True)
    try:
        yield heard
    finally:
        thread.stop()
        thread.join()


def calls_of(client: redis.Redis) -> int:
    """Calls of functions since the figures were reset."""
    return client.info("commandstats").get("cmdstat_fcall", {"calls": 0})["calls"]


def print_inner_commands(client: redis.Redis, num_segments: int) -> None:
    """What the server did inside the functions, dearest first, with its own time; the rest of a call is Lua's."""
    stats = client.info("commandstats")
    commands = {name.removeprefix("cmdstat_"): stat for name, stat in stats.items() if name != "cmdstat_fcall"}
    dearest = sorted(commands, key=lambda name: commands[name]["usec"], reverse=True)[:10]
    for name in ["fcall", *dearest]:
        stat = stats[f"cmdstat_{name}"]
        calls, time_us = stat["calls"] / num_segments, stat["usec"] / num_segments
        print(f"{'':<16} {name:<14} {calls:>6.2f} calls {time_us:>7.2f} us a segment")
    client.config_resetstat()


def print_limit(client: redis.Redis, pid: int, busy_s: float, num_segments: int) -> None:
    """What one server's thread can take: claim and commit of each segment, with its log, and nothing besides."""
    each_s = (cpu_s(pid) - busy_s) / num_segments
    limit = f"{each_s * 1e6:.0f} us of the server's CPU for a segment's claim and commit, at most {1 / each_s:,.0f}/s"
    print(f"{'':<16} {limit}")


def cpu_s(pid: int) -> float:
    """CPU seconds of the server's threads so far (Linux)."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def print_memory(client: redis.Redis, job_id: JobId) -> None:
    sizes = {key: client.memory_usage(key, samples=0) or 0 for key in client.scan_iter(f"*{job_id}*")}
    print(f"\nmemory of the job: {sum(sizes.values()) / 1024:.0f} KiB")
    for key, size in Counter(sizes).most_common():
        print(f"  {size / 1024:>8.1f} KiB  {key.split(':')[1]}")
    print()


def print_server_times(client: redis.Redis) -> None:
    """Time inside the server per call of a function since the last print, which also resets the figures."""
    stats = client.info("commandstats").get("cmdstat_fcall")
    if stats:
        print(f"{'':<16} {stats['usec_per_call'] / 1000:.3f} ms inside the server per call")
    client.config_resetstat()


def new_submission(tenant: TenantId, audio_ms: int) -> Submission:
    job_id = new_job_id()
    return Submission(
        id=job_id,
        tenant=tenant,
        spec=NarrationSpec(Narration(model="small", voice="alice")),
        priority=Priority.NORMAL,
        input_key=f"jobs/{tenant}/{job_id}/input.txt",
        input_chars=audio_ms // 60,
        estimated_audio_ms=audio_ms,
        retention_s=3600,
    )


def must_claim(store: JobStore, queue: WorkQueue) -> ClaimedItem:
    item = store.claim(queue, WORKER, 30).item
    assert item is not None
    return item


if __name__ == "__main__":
    main()
