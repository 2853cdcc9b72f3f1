"""Ten times more work than the system can do: does it still do all that it can, and does anybody else suffer?

    python benchmarks/queue/overload.py [--slots 8] [--segment-s 2.2] [--seconds 60] [--factor 10]

A whole stack as `rhapsode up` starts it, with the fake engine, whose pace is known. Jobs have one segment. First the
capacity: one tenant with twice as many jobs as slots, always. Then a second tenant alone, for its latency from submit
to success. Then both: the first submits `factor` times the capacity, whatever it is answered, the second as before.

The first tenant speaks half to one and a half times as long as the second, whose segments are all alike. Were the first
one's alike too, all slots would begin and end together, and who comes later would wait for half a segment, whatever
the queue does.

Goodput is what was spoken, from `/v1/usage`, as a share of the capacity. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import hashlib
import http.client
import json
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from rhapsode.bench.statistics import percentile
from rhapsode.stack.events import StackEvent
from rhapsode.stack.options import StackOptions
from rhapsode.stack.stack import Stack
from tests.environment import without_settings
from tests.run_guard import guarded_run
from worker.engine.cores import usable_cores
from worker.engine.fake import SPEAKERS

HEAVY, LIGHT = "heavy", "light"
STEP_S = 0.02
CHARS_PER_FRAME, LEAST_FRAMES = 2, 4
"""Of the fake engine."""

QUOTA_SLOTS = 4
"""Unfinished jobs that a tenant may have, in times the slots."""

SUBMITTERS = 8

REST_S = 2.0
"""After so long a connection is not used again; the server closes one after five seconds."""

LENGTHS = tuple(0.5 + 0.1 * number for number in range(11))
"""Of the first tenant's segments, in times `segment_s`; as much as that on average."""

LIGHT_SHARE = 0.1
"""Of the capacity: what the second tenant asks for."""


@dataclass(frozen=True)
class Load:
    slots: int
    segment_s: float
    seconds: float
    factor: float

    def text(self, times: float = 1.0) -> str:
        """What the engine speaks for so many times `segment_s`."""
        frames = round(times * self.segment_s / STEP_S)
        chars = (frames - LEAST_FRAMES) * CHARS_PER_FRAME
        return ("A sentence of the book " * chars)[: chars - 1] + "."


@dataclass
class Answers:
    """Of the submits of one tenant."""

    statuses: Counter[int] = field(default_factory=Counter[int])
    without_retry_after: int = 0
    latencies_s: list[float] = field(default_factory=list[float])

    def count(self, status: int, retry_after: str | None) -> None:
        self.statuses[status] += 1
        if status in (429, 503) and retry_after is None:
            self.without_retry_after += 1


@dataclass(frozen=True)
class Result:
    """Latencies from submit to success, in seconds."""

    capacity_jobs_per_s: float
    goodput_jobs_per_s: float
    goodput_share: float
    idle_p50_s: float
    idle_p95_s: float
    overload_p50_s: float
    overload_p95_s: float
    p95_ratio: float
    offered_jobs_per_s: float
    heavy_answers: dict[int, int]
    refusals_without_retry_after: int


class Client:
    """One tenant. Every thread has a connection of its own; the standard library's: a richer one measures itself."""

    def __init__(self, url: str, tenant: str, texts: Sequence[str]) -> None:
        self._host, self._port = urlsplit(url).hostname or "", urlsplit(url).port
        self._headers = {"Authorization": f"Bearer {tenant}", "Content-Type": "application/json"}
        self._texts = texts
        self._body = {"voice": SPEAKERS[0], "quality": {"gate": "off"}}
        self._local = threading.local()
        self._numbers = iter(range(10**9))

    def submit(self, answers: Answers) -> str | None:
        """The job's id, or None if it was refused. No two seeds are equal, so that nothing is reused."""
        body = {**self._body, "input": {"text": random.choice(self._texts)}, "seed": next(self._numbers)}
        status, retry_after, answer = self._request("POST", "/v1/jobs", json.dumps(body).encode())
        answers.count(status, retry_after)
        return json.loads(answer)["id"] if status == 202 else None

    def wait(self, job: str) -> None:
        while True:
            _, _, answer = self._request("GET", f"/v1/jobs/{job}", None, {"Prefer": "wait=30"})
            state = json.loads(answer)["state"]
            if state == "succeeded":
                return
            if state not in ("pending", "running"):
                raise RuntimeError(f"{job} is {state}: {answer.decode()}")

    def segments_spoken(self) -> int:
        _, _, answer = self._request("GET", "/v1/usage", None)
        return json.loads(answer)["total"]["segments"]

    def _request(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str] | None = None
    ) -> tuple[int, str | None, bytes]:
        connection = self._connection()
        connection.request(method, path, body, self._headers | (headers or {}))
        response = connection.getresponse()
        answer = response.read()
        self._local.used_s = time.monotonic()
        return response.status, response.getheader("Retry-After"), answer

    def _connection(self) -> http.client.HTTPConnection:
        """This thread's, anew where the server may be about to close it for having rested."""
        connection = getattr(self._local, "connection", None)
        if connection is not None and time.monotonic() - self._local.used_s < REST_S:
            return connection
        if connection is not None:
            connection.close()
        connection = self._local.connection = http.client.HTTPConnection(self._host, self._port, timeout=90)
        self._local.used_s = time.monotonic()
        return connection


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slots", type=int, default=8)
    parser.add_argument("--segment-s", type=float, default=2.2, help="time that the engine takes for a segment")
    parser.add_argument("--seconds", type=float, default=60.0, help="of each of the three parts")
    parser.add_argument("--factor", type=float, default=10.0, help="times the capacity that is submitted")
    arguments = parser.parse_args()
    load = Load(arguments.slots, arguments.segment_s, arguments.seconds, arguments.factor)
    with guarded_run() as folder, stack(folder, load) as url:
        heavy = Client(url, HEAVY, [load.text(times) for times in LENGTHS])
        result = measure(heavy, Client(url, LIGHT, [load.text()]), load)
    print(json.dumps({"load": asdict(load), "result": asdict(result), "cores": usable_cores()}, indent=1))


@contextmanager
def stack(folder: Path, load: Load) -> Generator[str]:
    """The address of a running system with two tenants, each with a limit on its unfinished jobs."""
    keys = {hashlib.sha256(tenant.encode()).hexdigest(): tenant for tenant in (HEAVY, LIGHT)}
    environment = without_settings(os.environ) | {
        "RHAPSODE_ENGINE": "fake",
        "RHAPSODE_FAKE_STEP_S": str(STEP_S),
        "RHAPSODE_API_KEYS": json.dumps(keys),
        "RHAPSODE_RATE_LIMIT": "1000000/minute",
        "RHAPSODE_QUOTA_JOBS": str(QUOTA_SLOTS * load.slots),
    }
    running = Stack(StackOptions(folder, slots=load.slots), environment, _ignore)
    running.start()
    try:
        running.wait_ready()
        yield running.url
    finally:
        running.stop()


def measure(heavy: Client, light: Client, load: Load) -> Result:
    capacity = measure_capacity(heavy, load)
    idle = Answers()
    submit_steadily(light, idle, LIGHT_SHARE * capacity, load.seconds)
    offered, crowded = Answers(), Answers()
    before = heavy.segments_spoken() + light.segments_spoken()
    started = time.monotonic()
    flood = threading.Thread(target=submit_at_rate, args=(heavy, offered, load.factor * capacity, load.seconds))
    flood.start()
    submit_steadily(light, crowded, LIGHT_SHARE * capacity, load.seconds)
    flood.join()
    elapsed_s = time.monotonic() - started
    goodput = (heavy.segments_spoken() + light.segments_spoken() - before) / elapsed_s
    idle_p50, idle_p95 = quantiles(idle.latencies_s)
    crowded_p50, crowded_p95 = quantiles(crowded.latencies_s)
    return Result(
        capacity_jobs_per_s=round(capacity, 2),
        goodput_jobs_per_s=round(goodput, 2),
        goodput_share=round(goodput / capacity, 3),
        idle_p50_s=idle_p50,
        idle_p95_s=idle_p95,
        overload_p50_s=crowded_p50,
        overload_p95_s=crowded_p95,
        p95_ratio=round(crowded_p95 / idle_p95, 2),
        offered_jobs_per_s=round(offered.statuses.total() / elapsed_s, 1),
        heavy_answers=dict(sorted(offered.statuses.items())),
        refusals_without_retry_after=offered.without_retry_after + crowded.without_retry_after,
    )


def measure_capacity(client: Client, load: Load) -> float:
    """Jobs per second with every slot always taken."""
    give_up = time.monotonic() + load.seconds
    finished_s: list[float] = []

    def keep_busy() -> None:
        while time.monotonic() < give_up:
            job = client.submit(Answers())
            if job is not None:
                client.wait(job)
                finished_s.append(time.monotonic())

    run_threads(keep_busy, 2 * load.slots)
    finished_s.sort()
    first, last = len(finished_s) // 5, len(finished_s) * 4 // 5
    return (last - first) / (finished_s[last] - finished_s[first])


def submit_steadily(client: Client, answers: Answers, rate: float, seconds: float) -> None:
    """Jobs at a rate, each followed to its end; returns when all have ended."""

    def narrate() -> None:
        started = time.monotonic()
        job = client.submit(answers)
        if job is not None:
            client.wait(job)
            answers.latencies_s.append(time.monotonic() - started)

    begun = time.monotonic()
    with ThreadPoolExecutor(64) as pool:
        futures: list[Future[None]] = []
        for number in range(round(rate * seconds)):
            time.sleep(max(0.0, begun + number / rate - time.monotonic()))
            futures.append(pool.submit(narrate))
        for future in futures:
            future.result()


def submit_at_rate(client: Client, answers: Answers, rate: float, seconds: float) -> None:
    """Submits at a rate, whatever is answered, and follows none."""
    begun = time.monotonic()
    numbers = iter(range(round(rate * seconds)))
    lock = threading.Lock()

    def work() -> None:
        while True:
            with lock:
                number = next(numbers, None)
            if number is None or time.monotonic() - begun > seconds:
                return
            time.sleep(max(0.0, begun + number / rate - time.monotonic()))
            client.submit(answers)

    run_threads(work, SUBMITTERS)


def run_threads(work: Callable[[], None], count: int) -> None:
    with ThreadPoolExecutor(count) as pool:
        for future in [pool.submit(work) for _ in range(count)]:
            future.result()


def quantiles(latencies_s: list[float]) -> tuple[float, float]:
    """The median and the 95th percentile."""
    return round(percentile(latencies_s, 0.5), 2), round(percentile(latencies_s, 0.95), 2)


def _ignore(_: StackEvent) -> None:
    return None


if __name__ == "__main__":
    main()
