"""How fast objects go into and out of the two stores, and what durability costs the folder store.

Sizes are those of real work: 96 kB is the PCM of two seconds, 2.9 MB of a minute. Each row writes and then reads
every object once, from several threads; latencies are per call.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from rhapsode.bench.statistics import percentile
from storage.objects.local_store import LocalArtifactStore
from storage.objects.s3_client import connect_s3
from storage.objects.s3_store import S3ArtifactStore
from storage.objects.store import ArtifactStore
from tests.run_guard import guarded_run
from tests.storage.objects.embedded_s3 import BUCKET, EmbeddedS3


@dataclass(frozen=True, slots=True)
class Load:
    num_bytes: int
    num_objects: int
    threads: int


@dataclass(frozen=True, slots=True)
class Figures:
    calls_per_s: float
    megabytes_per_s: float
    median_ms: float
    p99_ms: float


LOADS = (Load(96_000, 400, 1), Load(96_000, 400, 8), Load(2_900_000, 40, 4))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stores", nargs="+", choices=["folder", "s3"], default=["folder", "s3"])
    parser.add_argument("--dir", type=Path, help="where to write; default: a temporary folder")
    arguments = parser.parse_args()
    print(f"{'store':<8}{'what':<6}{'bytes':>10}{'threads':>9}{'calls/s':>10}{'MB/s':>8}{'p50 ms':>9}{'p99 ms':>9}")
    with guarded_run(), ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="rhapsode-", dir=arguments.dir)))
        for name in arguments.stores:
            store = open_folder(folder) if name == "folder" else open_s3(folder, opened)
            for number, load in enumerate(LOADS):
                measure(name, store, f"bench/{number}", load)
    if "folder" in arguments.stores:
        with tempfile.TemporaryDirectory(prefix="rhapsode-", dir=arguments.dir) as folder_name:
            measure_durability(Path(folder_name))


def open_folder(folder: Path) -> ArtifactStore:
    return LocalArtifactStore(folder / "store", os.urandom(32))


def open_s3(folder: Path, opened: ExitStack) -> ArtifactStore:
    server = opened.enter_context(EmbeddedS3(folder / "s3"))
    client = connect_s3(server.endpoint_url, None, *server.credentials)
    opened.callback(client.close)
    return S3ArtifactStore(client, BUCKET, "")


def measure(name: str, store: ArtifactStore, prefix: str, load: Load) -> None:
    data = os.urandom(load.num_bytes)
    store.put(f"{prefix}/warm-up", data)
    keys = [f"{prefix}/{index:06d}" for index in range(load.num_objects)]
    report(name, "put", load, timed(lambda key: store.put(key, data), keys, load))
    report(name, "get", load, timed(store.get, keys, load))


def timed(call: Callable[[str], object], keys: list[str], load: Load) -> Figures:
    def one(key: str) -> float:
        begun = time.perf_counter()
        call(key)
        return time.perf_counter() - begun

    with ThreadPoolExecutor(load.threads) as threads:
        begun = time.perf_counter()
        seconds = list(threads.map(one, keys))
        wall_s = time.perf_counter() - begun
    return Figures(
        calls_per_s=len(keys) / wall_s,
        megabytes_per_s=len(keys) * load.num_bytes / wall_s / 1e6,
        median_ms=percentile(seconds, 0.5) * 1e3,
        p99_ms=percentile(seconds, 0.99) * 1e3,
    )


def report(name: str, what: str, load: Load, figures: Figures) -> None:
    print(
        f"{name:<8}{what:<6}{load.num_bytes:>10,}{load.threads:>9}{figures.calls_per_s:>10,.0f}"
        f"{figures.megabytes_per_s:>8,.0f}{figures.median_ms:>9.2f}{figures.p99_ms:>9.2f}"
    )


def measure_durability(folder: Path) -> None:
    """The same file written with and without fsync: the share of a put that buys survival of a power cut."""
    data = os.urandom(LOADS[0].num_bytes)
    for what, sync in (("plain", _no_sync), ("fsync", os.fsync)):
        seconds: list[float] = []
        for index in range(200):
            begun = time.perf_counter()
            descriptor = os.open(folder / f"{what}-{index}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            os.write(descriptor, data)
            sync(descriptor)
            os.close(descriptor)
            seconds.append(time.perf_counter() - begun)
        seconds.sort()
        print(
            f"one file of {len(data):,} bytes, {what}: p50 {seconds[100] * 1e3:.2f} ms, p99 {seconds[197] * 1e3:.2f} ms"
        )


def _no_sync(_descriptor: int) -> None:
    return


if __name__ == "__main__":
    main()
