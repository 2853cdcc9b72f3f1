"""Kills a GPU worker while jobs run, and looks in Redis at what becomes of the segments that it held."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

import redis

from rhapsode.stack.layout import DataDir
from storage.database.embedded_valkey import EmbeddedRedis
from storage.database.keys import RedisKeys
from storage.ids import JobId
from storage.queue.worker_registry import WorkerRegistry, WorkerRole

LOOK_S = 0.05
MOST_S = 60.0
LEASED = ("L", "A")

Leases = dict[tuple[str, str], str]
"""By job and item: `L<fence>|<worker>`, `A` where it runs alone, as the functions in Redis write it."""


@dataclass(frozen=True, slots=True)
class Loss:
    """held: segments of the killed worker. half_s, all_s: from the kill until that much of them was taken from it and
    given to another worker, or to the one that was started in its place; None: not within a minute."""

    worker: str
    held: int
    free_s: float | None
    half_s: float | None
    all_s: float | None


class LostWorker:
    """One that holds the most of the jobs' items, so many seconds from now; on a thread of its own."""

    def __init__(self, folder: Path, jobs: Sequence[str], after_s: float) -> None:
        self._url = EmbeddedRedis(DataDir(folder).valkey).url
        self._keys = RedisKeys("rhapsode")
        self._jobs = [JobId(job) for job in jobs]
        self._after_s = after_s
        self._loss: Future[Loss] = Future()
        threading.Thread(target=self._run, name="lost-worker", daemon=True).start()

    def told(self) -> Loss:
        """Raises what went wrong."""
        return self._loss.result(self._after_s + MOST_S)

    def _run(self) -> None:
        time.sleep(self._after_s)
        try:
            with redis.Redis.from_url(self._url, decode_responses=True) as client:
                self._loss.set_result(self._kill_one(client))
        except Exception as error:  # noqa: BLE001 - raised where it is asked for
            self._loss.set_exception(error)

    def _kill_one(self, client: redis.Redis) -> Loss:
        leases = self._leases(client)
        reports = [each.report for each in WorkerRegistry(client).list()]
        pids = {report.name: report.pid for report in reports if report.role is WorkerRole.GPU}
        held_by = {name: {place for place, lease in leases.items() if _owner(lease) == name} for name in pids}
        name = max(held_by, key=lambda name: len(held_by[name]))
        os.kill(pids[name], signal.SIGKILL)
        killed_s = time.monotonic()
        # What it committed between the look and its end is not lost: it is under no lease any more.
        lost = {place: lease for place, lease in self._leases(client).items() if _owner(lease) == name}
        return self._follow(client, name, lost, killed_s)

    def _follow(self, client: redis.Redis, name: str, lost: Leases, killed_s: float) -> Loss:
        free_s = half_s = all_s = None
        while all_s is None and time.monotonic() < killed_s + MOST_S:
            leases, after_s = self._leases(client), round(time.monotonic() - killed_s, 2)
            held = sum(leases.get(place) == lease for place, lease in lost.items())
            waiting = sum(not leases.get(place, LEASED[0]).startswith(LEASED) for place in lost)
            unclaimed = held + self._ready(client, lost, leases) + waiting
            free_s = after_s if free_s is None and not held else free_s
            half_s = after_s if half_s is None and unclaimed <= len(lost) / 2 else half_s
            all_s = after_s if not unclaimed else None
            time.sleep(LOOK_S)
        return Loss(name, len(lost), free_s, half_s, all_s)

    def _leases(self, client: redis.Redis) -> Leases:
        pipeline = client.pipeline(transaction=True)
        for job in self._jobs:
            pipeline.hgetall(self._keys.live(job))
        found: list[dict[str, str]] = pipeline.execute()
        return {(job, item): lease for job, live in zip(self._jobs, found, strict=True) for item, lease in live.items()}

    def _ready(self, client: redis.Redis, lost: Leases, leases: Leases) -> int:
        """Of those that are under no lease, how many have no result yet: they wait to be claimed."""
        free = [place for place in lost if place not in leases]
        pipeline = client.pipeline(transaction=False)
        for job, item in free:
            pipeline.hexists(self._keys.results(JobId(job)), item)
        return sum(not is_there for is_there in pipeline.execute()) if free else 0


def _owner(lease: str) -> str:
    return lease.partition("|")[2].partition("|")[0] if lease.startswith(LEASED) else ""
