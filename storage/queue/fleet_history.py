"""What the fleet was in each minute of the last day: a ring in Redis, which the janitor writes."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import cast

import redis

from rhapsode.contract.operators.fleet import FleetMinute
from storage.database.keys import RedisKeys
from storage.queue.overview import Overview
from storage.queue.worker_registry import ListedWorker, WorkerState

MOST_MINUTES = 24 * 60
MINUTE_MS = 60_000


def minute_of(overview: Overview, workers: Sequence[ListedWorker], now_ms: int) -> FleetMinute:
    """As it is now. Pure."""
    heard = [each.report for each in workers if each.state is not WorkerState.UNRESPONSIVE]
    engines = [(report.engine, report.slots or 0) for report in heard if report.engine is not None]
    steps = [engine.step_ms for engine, _ in engines if engine.step_ms is not None]
    slots = sum(number for _, number in engines)
    waits = [seen.oldest_wait_ms for queue in overview.queues for seen in queue.classes.values()]
    longest_ms = max((wait for wait in waits if wait is not None), default=None)
    return FleetMinute(
        at=datetime.fromtimestamp((now_ms - now_ms % MINUTE_MS) / 1000, UTC),
        workers=len(heard),
        audio_s_per_s=round(sum(engine.audio_s_per_s or 0.0 for engine, _ in engines), 3),
        batch_fill=round(sum((engine.batch_fill or 0.0) * n for engine, n in engines) / slots, 4) if slots else None,
        step_ms_p50=round(statistics.median(steps), 2) if steps else None,
        step_ms_most=round(max(steps), 2) if steps else None,
        backlog_audio_s=sum(queue.backlog_ms for queue in overview.queues) / 1000,
        unfinished_jobs=overview.unfinished_jobs,
        leases=overview.leases,
        oldest_wait_s=None if longest_ms is None else longest_ms / 1000,
        dead_letters=overview.dead_letters,
    )


class FleetHistoryStore:
    """Safe to share between threads, as the client is."""

    def __init__(self, redis: redis.Redis, key_prefix: str = "rhapsode") -> None:
        self._redis = redis
        self._key = RedisKeys(key_prefix).single("fleet_history")

    def note(self, minute: FleetMinute) -> None:
        """Keep it as the newest, in place of one of the same minute. Raises `StoreUnavailable`."""
        last = cast("str | None", self._redis.lindex(self._key, -1))
        line = minute.model_dump_json()
        if last is not None and FleetMinute.model_validate_json(last).at == minute.at:
            self._redis.lset(self._key, -1, line)
            return
        with self._redis.pipeline() as pipeline:
            pipeline.rpush(self._key, line)
            pipeline.ltrim(self._key, -MOST_MINUTES, -1)
            pipeline.execute()

    def read(self, most: int = MOST_MINUTES) -> tuple[FleetMinute, ...]:
        """The newest so many, the oldest first; minutes without a janitor are missing. Raises `StoreUnavailable`."""
        lines = cast("list[str]", self._redis.lrange(self._key, -most, -1))
        return tuple(FleetMinute.model_validate_json(line) for line in lines)
