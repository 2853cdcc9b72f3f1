"""What every worker process says of itself every few seconds, and who of them shall claim nothing.

For operators alone: nothing in the queue rests on it. A draining worker finishes what it holds, claims
nothing more and stays; the wish outlives its restarts, under its name.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import cast

import redis
from pydantic import TypeAdapter

from rhapsode.contract.operators.fleet import EngineState, VoiceMemory
from storage.database.functions import Clock, Functions
from storage.database.keys import RedisKeys
from storage.errors import StorageError
from storage.live.address import LiveAddress

REPORT_INTERVAL_S = 2.0
UNRESPONSIVE_AFTER_S = 10.0
FORGOTTEN_AFTER_S = 60.0
DRAIN_KEPT_S = 7 * 24 * 3600.0
DRAIN_HEARD_S = 2 * REPORT_INTERVAL_S
"""A worker learns of the wish with a report. A claim may be under way then; the next report counts its lease."""


class WorkerUnknown(StorageError):
    """No worker of this name reported lately."""


class WorkerRole(enum.StrEnum):
    GPU = "gpu"
    CPU = "cpu"
    HOOKS = "hooks"
    JANITOR = "janitor"


class WorkerState(enum.StrEnum):
    """LOADING: its engine is not there yet. DRAINED: it claims nothing, and has no leases."""

    LOADING = "loading"
    READY = "ready"
    DRAINING = "draining"
    DRAINED = "drained"
    UNRESPONSIVE = "unresponsive"


@dataclass(frozen=True, slots=True)
class WorkerReport:
    """queue, slots: None where there are none. leases: items, or webhook attempts, under way.

    live, more_live: where it speaks live, with the tokens for that; operators are not shown them. None and empty where
    it does not. Older releases know `live` alone.
    other_models: that it may load instead. is_loading: its own is not there yet. tasks_down: its background tasks that
    ended unexpectedly and are not started again yet. claims_nothing: it knew the wish to drain before it counted its
    leases. Older releases do not say.
    """

    name: str
    role: WorkerRole
    host: str
    pid: int
    version: str
    started_at_ms: int
    leases: int
    queue: str | None = None
    model: str | None = None
    slots: int | None = None
    engine: EngineState | None = None
    voice_cache: VoiceMemory | None = None
    live: LiveAddress | None = None
    other_models: tuple[str, ...] = ()
    is_loading: bool = False
    tasks_down: tuple[str, ...] = ()
    more_live: tuple[LiveAddress, ...] = ()
    claims_nothing: bool = True

    @property
    def addresses(self) -> tuple[LiveAddress, ...]:
        """All of them."""
        return self.more_live if self.live is None else (self.live, *self.more_live)

    @property
    def live_slots(self) -> int:
        return sum(each.live_slots for each in self.addresses)

    @property
    def live_streams(self) -> int:
        return sum(each.streams for each in self.addresses)


@dataclass(frozen=True, slots=True)
class ListedWorker:
    report: WorkerReport
    state: WorkerState
    seen_at_ms: int


_REPORT = TypeAdapter(WorkerReport)


class WorkerRegistry:
    """Safe to share between threads, as the client is. `clock` as of `JobStore`."""

    def __init__(self, redis: redis.Redis, key_prefix: str = "rhapsode", clock: Clock | None = None) -> None:
        self._redis = redis
        self._keys = RedisKeys(key_prefix)
        self._functions = Functions(redis, key_prefix, clock)

    def report(self, report: WorkerReport) -> bool:
        """Say it; returns whether this worker shall claim nothing. Raises `StoreUnavailable`."""
        reply = self._functions.call(
            "report",
            worker=report.name,
            report=_REPORT.dump_json(report).decode(),
            forgotten_ms=round(FORGOTTEN_AFTER_S * 1000),
        )
        return reply.flag("is_draining")

    def leave(self, name: str) -> None:
        """An orderly end. Raises `StoreUnavailable`."""
        self._redis.hdel(self._keys.single("worker_registry"), name)
        self._redis.zrem(self._keys.single("heard"), name)

    def drain(self, name: str) -> None:
        """The worker claims nothing more until `undrain`. Raises `WorkerUnknown` or `StoreUnavailable`."""
        self._wish(name, drains=True)

    def undrain(self, name: str) -> None:
        """Raises `WorkerUnknown` or `StoreUnavailable`."""
        self._wish(name, drains=False)

    def list(self) -> tuple[ListedWorker, ...]:
        """Every worker that reported in the last minute, by name. Raises `StoreUnavailable`."""
        pipeline = self._redis.pipeline(transaction=True)
        pipeline.hgetall(self._keys.single("worker_registry"))
        pipeline.zrange(self._keys.single("heard"), 0, -1, withscores=True)
        pipeline.hgetall(self._keys.single("draining"))
        pipeline.time()
        said, heard, draining, (seconds, micros) = cast(
            "tuple[dict[str, str], list[tuple[str, float]], dict[str, str], tuple[int, int]]", pipeline.execute()
        )
        now_ms = int(seconds) * 1000 + int(micros) // 1000
        listed = (
            _listed(_REPORT.validate_json(said[name]), int(seen_ms), now_ms, draining.get(name))
            for name, seen_ms in heard
            if name in said and now_ms - seen_ms < FORGOTTEN_AFTER_S * 1000
        )
        return tuple(sorted(listed, key=lambda worker: worker.report.name))

    def _wish(self, name: str, *, drains: bool) -> None:
        kept_ms = round(DRAIN_KEPT_S * 1000)
        reply = self._functions.call("drain_worker", worker=name, drains=drains, kept_ms=kept_ms)
        if reply.status == "unknown":
            raise WorkerUnknown(f"no worker {name!r} reported in the last {FORGOTTEN_AFTER_S:.0f} s")


def _listed(report: WorkerReport, seen_at_ms: int, now_ms: int, drained_at_ms: str | None) -> ListedWorker:
    """drained_at_ms: when it was asked to claim nothing; None if it may claim."""
    if now_ms - seen_at_ms > UNRESPONSIVE_AFTER_S * 1000:
        state = WorkerState.UNRESPONSIVE
    elif drained_at_ms is not None:
        has_heard = report.claims_nothing and seen_at_ms - int(drained_at_ms) >= DRAIN_HEARD_S * 1000
        state = WorkerState.DRAINED if has_heard and not report.leases else WorkerState.DRAINING
    else:
        state = WorkerState.LOADING if report.is_loading else WorkerState.READY
    return ListedWorker(report, state, seen_at_ms)
