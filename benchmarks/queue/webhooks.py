"""Webhooks: deliveries a second, the CPU each of them costs, how soon they arrive, and what telling costs a job's end.

    python benchmarks/queue/webhooks.py [--deliveries 3000]

A real Valkey and the real process that delivers; jobs are cancelled instead of spoken. The receiver is a process of its
own that answers 204 at once, by plain http on this machine: a handshake with TLS and a distant network come on top.
Prints a table:

    told of       endpoints that want the event, and what the end of a job (one script) takes with so many
    receivers     endpoints that the same number of deliveries goes to
    deliveries/s  from the first to the last arrival, everything being due at the beginning
    worker, Valkey CPU of the processes for one delivery
    calls, commands round trips to Valkey for one delivery, and the commands that it runs for it, in functions or not
    latency       from the call that ends a job to the arrival, one at a time, median and 99th percentile: alone, and
                  beside another tenant's receivers that accept every connection and never answer
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import ClassVar, cast

import redis

from benchmarks.process_figures import cpu_s
from rhapsode.bench.statistics import percentile
from rhapsode.contract.jobs.narration import Narration
from rhapsode.contract.jobs.states import Priority
from rhapsode.stack import processes
from rhapsode.stack.layout import DataDir
from rhapsode.stack.options import StackOptions
from storage.database.connections import connect_redis
from storage.database.embedded_valkey import EmbeddedRedis
from storage.database.keys import RedisKeys
from storage.database.webhook_keys import WebhookKeys
from storage.ids import TenantId, new_endpoint_id, new_job_id
from storage.job_store.store import JobStore
from storage.jobs.submissions import Submission
from storage.jobs.work_queues import HOOKS_QUEUE
from storage.narration.spec import NarrationSpec
from storage.queue.celery_queue import TicketQueue, create_celery
from storage.runtime.config.settings import StorageSettings
from storage.webhooks.records import NewEndpoint
from storage.webhooks.sealed_secrets import SecretSealer, new_secret
from storage.webhooks.store import WebhookStore
from tests.environment import without_settings
from tests.run_guard import guarded_run

KEY = "a-sealing-key-of-a-benchmark"
TENANT = TenantId("local")
STUCK_TENANT = TenantId("stuck")
STUCK_RECEIVERS, STUCK_JOBS = 8, 25
"""Each of the receivers has an attempt hanging for fifteen seconds, then the next."""

LATENCY_JOBS = 400
TOLD = (0, 1, 10)
RECEIVERS = (1, 8, 50)


class _Post(asyncio.Protocol):
    """Answers every request with 204 and notes when it came."""

    arrivals: ClassVar[list[float]] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._data = b""

    def data_received(self, data: bytes) -> None:
        self._data += data
        head, end, body = self._data.partition(b"\r\n\r\n")
        if not end:
            return
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        if len(body) >= length:
            _Post.arrivals.append(time.time())
            assert isinstance(self._transport, asyncio.Transport)
            self._transport.write(b"HTTP/1.1 204 No Content\r\n\r\n")
            self._data = b""


class _Hang(asyncio.Protocol):
    """Takes whatever comes and says nothing."""


def _receive(pipe: Connection) -> None:
    """A process: tells its ports (one answers, one hangs), then on every message the arrivals since the last."""

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(_Post, "127.0.0.1", 0)
        hanging = await loop.create_server(_Hang, "127.0.0.1", 0)
        pipe.send((server.sockets[0].getsockname()[1], hanging.sockets[0].getsockname()[1]))

        def answer() -> None:
            pipe.recv()
            pipe.send(_Post.arrivals)
            _Post.arrivals = []

        loop.add_reader(pipe.fileno(), answer)
        await server.serve_forever()

    asyncio.run(serve())


@dataclass
class Bench:
    """Everything but the worker, which is started for each measurement."""

    client: redis.Redis
    settings: StorageSettings
    valkey: EmbeddedRedis
    data_dir: DataDir
    pipe: Connection
    port: int
    hanging_port: int

    def __post_init__(self) -> None:
        self.jobs = JobStore(self.client)
        self.store = WebhookStore(self.client)
        self.tickets = TicketQueue(create_celery(self.settings, "benchmark"))

    def reset(self, num_endpoints: int) -> None:
        self.client.flushdb()
        for _ in range(num_endpoints):
            self.register(TENANT, self.port)

    def register(self, tenant: TenantId, port: int) -> None:
        endpoint = new_endpoint_id()
        sealed, url = SecretSealer(KEY).seal(new_secret(), endpoint), f"http://127.0.0.1:{port}/hook"
        self.store.create(NewEndpoint(endpoint, tenant, url, ("job.cancelled",), sealed, "http://127.0.0.1"))

    def submit(self, tenant: TenantId = TENANT) -> Submission:
        job = new_job_id()
        spec = NarrationSpec(Narration(model="fake", voice="ada"))
        wanted = Submission(job, tenant, spec, Priority.NORMAL, "input", 10, 1_000, 3_600)
        self.jobs.submit(wanted)
        return wanted

    def end_job(self, tenant: TenantId = TENANT) -> None:
        outcome = self.jobs.cancel(tenant, self.submit(tenant).id)
        self.tickets.send(outcome.tickets)

    def attempts_under_way(self) -> int:
        return int(self.client.zcard(f"{WebhookKeys(RedisKeys('rhapsode')).root}:flights"))

    def calls_and_commands(self) -> tuple[int, int]:
        """Of functions, and of all commands, since the server began."""
        stats = cast("dict[str, dict[str, int]]", self.client.info("commandstats"))
        return int(stats["cmdstat_fcall"]["calls"]), sum(int(each["calls"]) for each in stats.values())

    def arrivals(self) -> list[float]:
        self.pipe.send(None)
        return self.pipe.recv()

    def await_arrivals(self, count: int, timeout_s: float = 300.0) -> list[float]:
        seen: list[float] = []
        until_s = time.monotonic() + timeout_s
        while len(seen) < count:
            if time.monotonic() > until_s:
                raise SystemExit(f"{len(seen)} of {count} webhooks arrived; see {self.data_dir.logs}")
            time.sleep(0.005)
            seen += self.arrivals()
        return seen

    @contextmanager
    def worker(self) -> Generator[int]:
        """The id of the process that delivers, once it is ready."""
        options = StackOptions(self.data_dir.root, has_local_webhooks=True)
        backing = {"RHAPSODE_REDIS_URL": self.valkey.url, "RHAPSODE_BROKER_URL": self.valkey.broker_url}
        mine = without_settings(os.environ)
        shared = processes.shared_environment(mine | {"RHAPSODE_WEBHOOK_KEY": KEY}, self.data_dir, options, backing)
        spec = processes.hooks_worker(shared, self.data_dir)
        log = self.data_dir.logs / "hooks.log"
        with log.open("wb") as output:
            process = subprocess.Popen(spec.command, env=dict(spec.environment), stdout=output, stderr=output)
        try:
            while "hooks@" not in log.read_text(errors="replace"):
                time.sleep(0.05)
            yield process.pid
        finally:
            process.terminate()
            process.wait()


@contextmanager
def opened() -> Generator[Bench]:
    with guarded_run() as folder:
        data_dir = DataDir(folder)
        data_dir.create()
        ours, theirs = multiprocessing.Pipe()
        # A fork would hold the guard's pipe open as well.
        receiver = multiprocessing.get_context("spawn").Process(target=_receive, args=(theirs,), daemon=True)
        receiver.start()
        with EmbeddedRedis(data_dir.valkey) as valkey:
            settings = StorageSettings.model_validate(
                {
                    "redis_url": valkey.url,
                    "broker_url": valkey.broker_url,
                    "store": data_dir.objects.as_uri(),
                    "url_secret": data_dir.secret("url"),
                }
            )
            with connect_redis(settings) as client:
                yield Bench(client, settings, valkey, data_dir, ours, *ours.recv())


def cost_of_telling(bench: Bench, num_endpoints: int, num_jobs: int) -> float:
    """Microseconds of the script that ends a job and tells so many endpoints."""
    bench.reset(num_endpoints)
    jobs = [bench.submit() for _ in range(num_jobs)]
    begun = time.perf_counter()
    for job in jobs:
        bench.jobs.cancel(TENANT, job.id)
    return (time.perf_counter() - begun) / num_jobs * 1e6


@dataclass(frozen=True)
class Cost:
    """Of one delivery: CPU in ms, round trips, commands."""

    rate: float
    worker_ms: float
    server_ms: float
    calls: float
    commands: float


def throughput(bench: Bench, num_endpoints: int, num_deliveries: int) -> Cost:
    """With everything due at the beginning."""
    bench.reset(num_endpoints)
    bench.arrivals()
    for _ in range(num_deliveries // num_endpoints):
        bench.jobs.cancel(TENANT, bench.submit().id)
    expected = num_deliveries // num_endpoints * num_endpoints
    server = int(str(bench.client.info("server")["process_id"]))
    with bench.worker() as worker:
        # It has begun by itself with what was due: what came until here is not counted.
        early = len(bench.arrivals())
        before_worker, before_server = cpu_s(worker), cpu_s(server)
        calls_before, commands_before = bench.calls_and_commands()
        arrivals = bench.await_arrivals(expected - early)
        counted = len(arrivals)
        calls, commands = bench.calls_and_commands()
        worker_ms = (cpu_s(worker) - before_worker) / counted * 1e3
        server_ms = (cpu_s(server) - before_server) / counted * 1e3
    rate = (counted - 1) / (max(arrivals) - min(arrivals))
    return Cost(rate, worker_ms, server_ms, (calls - calls_before) / counted, (commands - commands_before) / counted)


def latency(bench: Bench, num_stuck: int) -> tuple[float, float]:
    """Milliseconds from the call that ends a job to the arrival, beside so many receivers that hang: median and p99."""
    bench.reset(1)
    bench.arrivals()
    for _ in range(num_stuck):
        bench.register(STUCK_TENANT, bench.hanging_port)
    found: list[float] = []
    with bench.worker():
        # A receiver that never took anything is a suspect until it has.
        bench.end_job()
        bench.await_arrivals(1)
        for _ in range(STUCK_JOBS if num_stuck else 0):
            bench.end_job(STUCK_TENANT)
        while bench.attempts_under_way() < num_stuck:
            time.sleep(0.05)
        for _ in range(LATENCY_JOBS):
            job = bench.submit().id
            begun = time.time()
            outcome = bench.jobs.cancel(TENANT, job)
            bench.tickets.send(outcome.tickets)
            (arrived,) = bench.await_arrivals(1)
            found.append((arrived - begun) * 1e3)
            time.sleep(0.02)
    return percentile(found, 0.5), percentile(found, 0.99)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deliveries", type=int, default=3_000)
    arguments = parser.parse_args()
    with opened() as bench:
        for count in TOLD:
            print(f"told of {count:2d}: {cost_of_telling(bench, count, 500):6.0f} us for the end of a job", flush=True)
        for count in RECEIVERS:
            cost = throughput(bench, count, arguments.deliveries)
            print(
                f"{count} receiver{'s' if count > 1 else ''}: {cost.rate:5.0f} deliveries/s, "
                f"worker {cost.worker_ms:.2f} ms, Valkey {cost.server_ms:.2f} ms of CPU each; "
                f"{cost.calls:.2f} calls, {cost.commands:.0f} commands",
                flush=True,
            )
        for count in (0, STUCK_RECEIVERS):
            median_ms, slow_ms = latency(bench, count)
            print(
                f"latency ({HOOKS_QUEUE}, one at a time) beside {count} receivers that hang: "
                f"p50 {median_ms:.1f} ms, p99 {slow_ms:.1f} ms",
                flush=True,
            )


if __name__ == "__main__":
    main()
