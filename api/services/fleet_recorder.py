"""Writes one point a minute of the fleet's history. Every API process tries, and one of them writes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager

from anyio.to_thread import run_sync

from api.services.fleet_view import minute_of
from storage.errors import StoreUnavailable
from storage.queue.dead_letters import DeadLetters
from storage.queue.fleet_history import MINUTE_MS, FleetHistoryStore
from storage.queue.overview import QueueOverviews
from storage.queue.worker_registry import ListedWorker, WorkerRegistry
from storage.runtime.watched import watched_task

logger = logging.getLogger(__name__)

RETRY_S = 5.0
"""After a call to Redis that failed."""

Spoken = Mapping[tuple[str, int], float]
"""Worker, by name and start -> audio seconds of its engine since then."""


@asynccontextmanager
async def recording(recorder: FleetRecorder) -> AsyncGenerator[None]:
    """The history grows while this is open."""
    task = watched_task("fleet-history", recorder.run)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


class FleetRecorder:
    """Of one API process; for one task."""

    def __init__(
        self, overviews: QueueOverviews, registry: WorkerRegistry, dead_letters: DeadLetters, history: FleetHistoryStore
    ) -> None:
        self._overviews = overviews
        self._registry = registry
        self._dead_letters = dead_letters
        self._history = history
        self._before: tuple[int, Spoken] | None = None

    async def run(self) -> None:
        """Until cancelled: wait for the next minute of Redis, then record."""
        while True:
            try:
                now_ms = await run_sync(self._history.now_ms)
                await asyncio.sleep((MINUTE_MS - now_ms % MINUTE_MS) / 1000)
                await run_sync(self.record)
            except StoreUnavailable as error:
                logger.warning("no point in the fleet's history", extra={"error": str(error)})
                await asyncio.sleep(RETRY_S)

    def record(self) -> bool:
        """Look at the fleet, and write this minute if no other process has. Returns whether it wrote. Raises
        `StoreUnavailable`.
        """
        now_ms = self._history.now_ms()
        at_ms = now_ms - now_ms % MINUTE_MS
        workers = self._registry.list()
        before, self._before = self._before, (now_ms, spoken_of(workers))
        if self._history.has(at_ms):
            return False
        pace = None if before is None else mean_pace(*before, *self._before)
        given_up = self._dead_letters.count_since(now_ms - MINUTE_MS)
        return self._history.add(minute_of(self._overviews.read(), workers, at_ms, pace, given_up))


def spoken_of(workers: Sequence[ListedWorker]) -> Spoken:
    """What each engine has spoken so far."""
    reports = [each.report for each in workers]
    return {(each.name, each.started_at_ms): each.engine.audio_s_total for each in reports if each.engine is not None}


def mean_pace(from_ms: int, before: Spoken, to_ms: int, after: Spoken) -> float:
    """Audio seconds per second between two looks. A restarted engine counts from 0; a new worker counts from its
    second look.
    """
    known = [(before[name], total) for name, total in after.items() if name in before]
    spoken_s = sum(total - was if total >= was else total for was, total in known)
    return spoken_s / max(1, to_ms - from_ms) * 1000
