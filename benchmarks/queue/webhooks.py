"""Webhooks: deliveries a second, the CPU each of them costs, how soon they arrive, and what telling costs a job's end.

    python benchmarks/queue/webhooks.py [--deliveries 3000]

A real Valkey and the real process that delivers; jobs are cancelled instead of spoken. The receiver is a separate
process that answers 204 at once, by plain http on this machine: TLS and a distant network come on top. Prints:

    told of       endpoints that want the event, and what the end of a job (one function) takes with so many
    receivers     deliveries a second from the first to the last arrival, everything being due at the beginning; CPU of
                  worker and Valkey, calls of Valkey's functions and its commands for one delivery
    latency       from the call that ends a job to the arrival, one at a time, alone, and beside another tenant's
                  receivers that accept every connection and never answer
"""

from __future__ import annotations

import asyncio
import multiprocessing
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection

import redis

from benchmarks.rig import as_environment, calls_and_commands, cpu_s, fake_engine, parser, settings_of, submission
from rhapsode.bench.statistics import percentile
from rhapsode.stack import processes
from rhapsode.stack.layout import DataDir
from rhapsode.stack.options import StackOptions
from rhapsode.stack.planning.plan import PlannedProcess
from rhapsode.stack.process_names import HOOKS_WORKER
from storage.database.connections import connect_redis
from storage.database.embedded_valkey import EmbeddedRedis
from storage.database.keys import WebhookKeys
from storage.ids import TenantId, new_endpoint_id
from storage.job_store.store import JobStore
from storage.queue.celery_queue import TicketQueue, create_celery
from storage.runtime.config.settings import StorageSettings
from storage.webhooks.records import NewEndpoint
from storage.webhooks.sealed_secrets import SecretSealer, new_secret
from storage.webhooks.store import WebhookStore
from tests.run_guard import guarded_run

KEY = "a-sealing-key-of-a-benchmark"
TENANT = TenantId("local")
STUCK_TENANT = TenantId("stuck")
STUCK_RECEIVERS, STUCK_JOBS = 8, 25
"""Each of the receivers has an attempt hanging for fifteen seconds, then the next."""

LATENCY_JOBS = 400
ENDED_JOBS = 500
TOLD = (0, 1, 10)
RECEIVERS = (1, 8, 50)
MOST_S = 300.0


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--deliveries", type=int, default=3_000)
    deliveries = options.parse_args().deliveries
    with opened() as bench:
        for count in TOLD:
            print(f"told of {count:2d}: {cost_of_telling(bench, count):6.0f} us for the end of a job", flush=True)
        for count in RECEIVERS:
            print(f"{count} receivers: {throughput(bench, count, deliveries)}", flush=True)
        for count in (0, STUCK_RECEIVERS):
            late_ms = latency(bench, count)
            p50, p99 = percentile(late_ms, 0.5), percentile(late_ms, 0.99)
            print(f"latency beside {count} receivers that hang: p50 {p50:.1f} ms, p99 {p99:.1f} ms", flush=True)


def _receive(pipe: Connection) -> None:
    """A process: sends its ports (one answers, one hangs), then on every message the arrivals since the last."""
    arrivals: list[float] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Every request with 204, over a connection that stays."""
        while head := await reader.readuntil(b"\r\n\r\n"):
            await reader.readexactly(int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]))
            arrivals.append(time.time())
            writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")

    async def guarded(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await answer(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def hang(_: asyncio.StreamReader, __: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()

    def tell() -> None:
        pipe.recv()
        pipe.send(arrivals)
        arrivals.clear()

    async def serve() -> None:
        servers = [await asyncio.start_server(each, "127.0.0.1", 0) for each in (guarded, hang)]
        pipe.send(tuple(server.sockets[0].getsockname()[1] for server in servers))
        asyncio.get_running_loop().add_reader(pipe.fileno(), tell)
        await servers[0].serve_forever()

    asyncio.run(serve())


@dataclass
class Bench:
    """Everything but the worker, which is started for each measurement."""

    client: redis.Redis
    settings: StorageSettings
    data_dir: DataDir
    pipe: Connection
    port: int
    hanging_port: int

    def __post_init__(self) -> None:
        self.jobs = JobStore(self.client)
        self.tickets = TicketQueue(create_celery(self.settings, "benchmark"))

    def reset(self, num_endpoints: int) -> None:
        self.client.flushdb()
        self.arrivals()
        for _ in range(num_endpoints):
            self.register(TENANT, self.port)

    def register(self, tenant: TenantId, port: int) -> None:
        endpoint = new_endpoint_id()
        sealed, url = SecretSealer(KEY).seal(new_secret(), endpoint), f"http://127.0.0.1:{port}/hook"
        wanted = NewEndpoint(endpoint, tenant, url, ("job.cancelled",), sealed, "http://127.0.0.1")
        WebhookStore(self.client).create(wanted)

    def end_jobs(self, count: int, tenant: TenantId = TENANT) -> list[float]:
        """When each of them was ended. They are all there before."""
        wanted = [submission(tenant) for _ in range(count)]
        for each in wanted:
            self.jobs.submit(each)
        moments: list[float] = []
        for each in wanted:
            moments.append(time.time())
            self.tickets.send(self.jobs.cancel(tenant, each.id).tickets)
        return moments

    def arrivals(self) -> list[float]:
        self.pipe.send(None)
        return self.pipe.recv()

    def await_arrivals(self, count: int) -> list[float]:
        seen: list[float] = []
        until_s = time.monotonic() + MOST_S
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
        backing = {name: value for name, value in as_environment(self.settings).items() if name.endswith("_URL")}
        mine = fake_engine(0) | {"RHAPSODE_WEBHOOK_KEY": KEY}
        shared = processes.shared_environment(mine, self.data_dir, options, backing)
        spec = processes.spec_of(PlannedProcess(HOOKS_WORKER, 0, 1, 1), shared, self.data_dir)
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
            settings = settings_of(valkey, data_dir.objects.as_uri())
            with connect_redis(settings) as client:
                yield Bench(client, settings, data_dir, ours, *ours.recv())


def cost_of_telling(bench: Bench, num_endpoints: int) -> float:
    """Microseconds of the function that ends a job and tells so many endpoints, its tickets among them."""
    bench.reset(num_endpoints)
    moments = bench.end_jobs(ENDED_JOBS)
    return (moments[-1] - moments[0]) / (ENDED_JOBS - 1) * 1e6


def throughput(bench: Bench, num_endpoints: int, num_deliveries: int) -> str:
    """With everything due at the beginning."""
    bench.reset(num_endpoints)
    bench.end_jobs(num_deliveries // num_endpoints)
    server = int(str(bench.client.info("server")["process_id"]))
    with bench.worker() as worker:
        # It has begun by itself with what was due: what came until here is not counted.
        early = len(bench.arrivals())
        before = (cpu_s(worker), cpu_s(server), *calls_and_commands(bench.client))
        arrivals = bench.await_arrivals(num_deliveries // num_endpoints * num_endpoints - early)
        after = (cpu_s(worker), cpu_s(server), *calls_and_commands(bench.client))
    mine_s, server_s, calls, commands = ((a - b) / len(arrivals) for a, b in zip(after, before, strict=True))
    rate = (len(arrivals) - 1) / (max(arrivals) - min(arrivals))
    cpu = f"worker {mine_s * 1e3:.2f} ms, Valkey {server_s * 1e3:.2f} ms of CPU each"
    return f"{rate:5.0f} deliveries/s, {cpu}; {calls:.2f} calls, {commands:.0f} commands"


def latency(bench: Bench, num_stuck: int) -> list[float]:
    """Milliseconds from the call that ends a job to the arrival, beside so many receivers that hang."""
    bench.reset(1)
    for _ in range(num_stuck):
        bench.register(STUCK_TENANT, bench.hanging_port)
    found: list[float] = []
    with bench.worker():
        # A receiver that never took anything is a suspect until it has.
        bench.end_jobs(1)
        bench.await_arrivals(1)
        bench.end_jobs(STUCK_JOBS if num_stuck else 0, STUCK_TENANT)
        flights = f"{WebhookKeys('rhapsode').root}:flights"
        while int(bench.client.zcard(flights)) < num_stuck:
            time.sleep(0.05)
        for _ in range(LATENCY_JOBS):
            (ended,) = bench.end_jobs(1)
            (arrived,) = bench.await_arrivals(1)
            found.append((arrived - ended) * 1e3)
            time.sleep(0.02)
    return found


if __name__ == "__main__":
    main()
