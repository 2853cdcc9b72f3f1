"""The fleet's last day, minute by minute."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import redis

from rhapsode.contract.operators.fleet import FleetMinute
from storage.job_store.store import JobStore
from storage.queue.fleet_history import MINUTE_MS, MOST_MINUTES, FleetHistoryStore, minute_of
from storage.queue.overview import QueueOverviews
from storage.queue.worker_registry import EngineReport, ListedWorker, WorkerReport, WorkerRole, WorkerState

NOW_MS = 1_790_000_000_000
MINUTE = FleetMinute(
    at=datetime.fromtimestamp((NOW_MS - NOW_MS % MINUTE_MS) / 1000, UTC),
    workers=2,
    audio_s_per_s=10.0,
    batch_fill=0.5,
    step_ms_p50=20.0,
    step_ms_most=30.0,
    backlog_audio_s=60.0,
    unfinished_jobs=3,
    leases=4,
    oldest_wait_s=1.5,
    dead_letters=0,
)


def later(minutes: int) -> dict[str, datetime]:
    return {"at": MINUTE.at + timedelta(minutes=minutes)}


def speaking(name: str, state: WorkerState, slots: int, **engine: float) -> ListedWorker:
    report = EngineReport(active_requests=1, waiting_requests=0, audio_s_total=0, steps_total=0, restarts=0, **engine)
    return ListedWorker(
        WorkerReport(name, WorkerRole.GPU, "host", 1, "0.2", 0, leases=1, queue="gpu.m", slots=slots, engine=report),
        state,
        NOW_MS,
    )


def test_a_minute_sums_up_who_is_there(redis_client: redis.Redis, store: JobStore) -> None:
    workers = (
        speaking("a", WorkerState.READY, 10, batch_fill=1.0, audio_s_per_s=30.0, step_ms=20.0),
        speaking("b", WorkerState.READY, 30, batch_fill=0.2, audio_s_per_s=10.0, step_ms=24.0),
        speaking("gone", WorkerState.UNRESPONSIVE, 99, batch_fill=1.0, audio_s_per_s=99.0, step_ms=99.0),
    )

    minute = minute_of(QueueOverviews(redis_client).read(), workers, NOW_MS + 59_999 - NOW_MS % MINUTE_MS)

    assert minute.at == MINUTE.at
    assert (minute.workers, minute.audio_s_per_s, minute.batch_fill) == (2, 40.0, 0.4)
    assert (minute.step_ms_p50, minute.step_ms_most) == (22.0, 24.0)
    assert (minute.backlog_audio_s, minute.unfinished_jobs, minute.oldest_wait_s) == (0.0, 0, None)


def test_a_fleet_of_nobody_has_nothing_measured(redis_client: redis.Redis, store: JobStore) -> None:
    minute = minute_of(QueueOverviews(redis_client).read(), (), NOW_MS)

    assert (minute.workers, minute.batch_fill, minute.step_ms_p50, minute.step_ms_most) == (0, None, None, None)


def test_a_minute_is_noted_once_and_a_day_is_kept(redis_client: redis.Redis) -> None:
    history = FleetHistoryStore(redis_client)
    for number in range(MOST_MINUTES + 5):
        history.note(MINUTE.model_copy(update=later(number)))
    last = MINUTE.model_copy(update=later(MOST_MINUTES + 4) | {"workers": 7})

    history.note(last)

    kept = history.read()
    assert len(kept) == MOST_MINUTES
    assert kept[0].at == later(5)["at"]
    assert kept[-1] == last
    assert history.read(2) == kept[-2:]
