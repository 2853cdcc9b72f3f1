"""How fast jobs are accepted: a real uvicorn process, Valkey (append-only file) and folder store, over HTTP.

Submits per second and latency at several numbers of clients and of API processes, with everything on: an API key that
is looked up, the rate limit that is counted, quotas, and an idempotency key a submit. Then, on this machine without a
key, the one submit that later makes a job of 5,000 segments. No worker runs: what is measured is the 202, after which
the job cannot be lost.

ext4 gives no file an inode whose file was deleted within the last minute, and looks at each of them first: measure
where nothing was deleted just now (`--dir`), or wait. On a folder full of such a put took four times its CPU.
"""

from __future__ import annotations

import argparse
import http.client
import json
import secrets
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.api.served_api import ServedApi, served_api
from reading.segmenting.lengths import Segmentation
from reading.segmenting.segmentation import plan_segments
from rhapsode.bench.statistics import percentile
from rhapsode.contract.jobs.input import Pauses
from tests.run_guard import guarded_run

SENTENCE = "The lamp in the hall was lit, and nobody could say who had come down to do it."

SENTENCES = (10_000, 12_660)
"""Of the long texts: one of 5,000 segments, and a book of a megabyte."""

TARGET_CHARS = 160
"""Two sentences a segment."""


@dataclass(frozen=True)
class Series:
    """Latencies in seconds of the submits of one round, the seconds it took, and those the API computed."""

    clients: int
    latencies_s: Sequence[float]
    wall_s: float
    cpu_s: float

    def row(self) -> str:
        p50_s, p99_s = percentile(self.latencies_s, 0.5), percentile(self.latencies_s, 0.99)
        submits = len(self.latencies_s)
        rates = f"{self.clients:>7} {submits:>8} {submits / self.wall_s:>10.0f}"
        return f"{rates} {_ms(p50_s)} {_ms(p99_s)} {_ms(self.cpu_s / submits)}"


def main() -> None:
    arguments = _parser().parse_args()
    print(f"{'processes':>9} {'clients':>7} {'submits':>8} {'submits/s':>10} {'p50 ms':>8} {'p99 ms':>8} {'CPU ms':>8}")
    for processes in arguments.processes:
        with (
            guarded_run() as folder,
            tempfile.TemporaryDirectory(prefix="rhapsode-", dir=arguments.dir) as store,
            served_api(folder, processes, Path(store)) as api,
        ):
            _submit_many(api, clients=2 * processes, submits=100 * processes)
            for clients in arguments.clients:
                print(f"{processes:>9} {_submit_many(api, clients, arguments.submits).row()}")
    print()
    _measure_long_texts(arguments.dir)


def _measure_long_texts(store_root: Path | None) -> None:
    with (
        guarded_run() as folder,
        tempfile.TemporaryDirectory(prefix="rhapsode-", dir=store_root) as store,
        served_api(folder, store_folder=Path(store)) as api,
    ):
        for sentences in SENTENCES:
            text = " ".join([SENTENCE] * sentences)
            segments = len(plan_segments(text, Segmentation(target_chars=TARGET_CHARS), Pauses()))
            median_s = statistics.median(_submit(api.port, text) for _ in range(5))
            print(f"submit of {len(text):,} characters ({segments:,} segments): median {_ms(median_s)} ms")
        jobs, memory = api.state.scard("{rhapsode}:active"), api.state.info("memory")["used_memory_human"]
        print(f"jobs held by Redis afterwards: {jobs}, memory {memory}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 32], help="connections that submit at once")
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 4], help="of the API, one after the other")
    parser.add_argument("--submits", type=int, default=1_000, help="submits of each round")
    parser.add_argument("--dir", type=Path, help="where the store lies; a file system of one's own is best")
    return parser


def _submit_many(api: ServedApi, clients: int, submits: int) -> Series:
    latencies: list[float] = []
    share = max(1, submits // clients)

    def work() -> None:
        # The standard library's client: a richer one would measure itself.
        connection = http.client.HTTPConnection("127.0.0.1", api.port, timeout=60)
        latencies.extend(_post(connection, f"{SENTENCE} {number}", api.key) for number in range(share))
        connection.close()

    threads = [threading.Thread(target=work) for _ in range(clients)]
    started, computed_s = time.perf_counter(), api.cpu_s()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return Series(clients, latencies, time.perf_counter() - started, api.cpu_s() - computed_s)


def _submit(port: int, text: str) -> float:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    duration_s = _post(connection, text)
    connection.close()
    return duration_s


def _post(connection: http.client.HTTPConnection, text: str, key: str | None = None) -> float:
    """Seconds until the 202 was read."""
    body = json.dumps({"input": {"text": text}, "segmentation": {"target_chars": TARGET_CHARS}}).encode()
    headers = {"Content-Type": "application/json", "Idempotency-Key": secrets.token_hex(16)}
    headers |= {} if key is None else {"Authorization": f"Bearer {key}"}
    started = time.perf_counter()
    connection.request("POST", "/v1/jobs", body, headers)
    response = connection.getresponse()
    answer = response.read()
    if response.status != 202:
        sys.exit(f"status {response.status}: {answer.decode()}")
    return time.perf_counter() - started


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:8.1f}"


if __name__ == "__main__":
    main()
