"""The fleet's last day, one point a minute."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import redis

from rhapsode.contract.operators.fleet import FleetMinute
from storage.queue.fleet_history import MINUTE_MS, MOST_MINUTES, FleetHistoryStore

AT_MS = 1_790_000_040_000
POINTS = "{rhapsode}:fleet_points"
MOST_BYTES = 1_000_000
"""Of Redis' memory, for a whole day."""


def point(minute: int, workers: int = 128) -> FleetMinute:
    """Every figure with as many digits as a busy fleet has."""
    return FleetMinute(
        at=datetime.fromtimestamp(AT_MS / 1000, UTC) + timedelta(minutes=minute),
        workers=workers,
        audio_s_per_s=12345.678,
        batch_fill=0.9876,
        step_ms_p50=123.45,
        step_ms_most=234.56,
        backlog_audio_s=1234567.891,
        drain_s=12345.6,
        unfinished_jobs=123_456,
        leases=12_345,
        retries_waiting=1_234,
        live_streams=1_234,
        oldest_wait_s=12345.678,
        wait_p50_s=1234.567,
        wait_p95_s=12345.678,
        given_up=1_234,
        dead_letters=10_000,
    )


def test_a_day_is_kept_in_bounded_memory(redis_client: redis.Redis) -> None:
    history = FleetHistoryStore(redis_client)
    for minute in range(MOST_MINUTES + 5):
        assert history.add(point(minute))

    kept = history.read()

    assert kept == tuple(point(minute) for minute in range(5, MOST_MINUTES + 5))
    assert history.read(2) == kept[-2:]
    size = redis_client.memory_usage(POINTS, samples=0)
    assert isinstance(size, int)
    assert MOST_BYTES / 4 < size < MOST_BYTES


def test_two_processes_write_a_minute_once(redis_client: redis.Redis) -> None:
    first, second = FleetHistoryStore(redis_client), FleetHistoryStore(redis_client)

    assert first.add(point(0, workers=1))
    assert second.has(AT_MS)
    assert not second.has(AT_MS + MINUTE_MS)
    assert not second.add(point(0, workers=2))
    assert second.add(point(1, workers=2))
    assert not first.add(point(0, workers=3))

    assert [each.workers for each in first.read()] == [1, 2]


def test_points_go_by_their_age_after_a_pause(redis_client: redis.Redis) -> None:
    history = FleetHistoryStore(redis_client)
    history.add(point(0))
    history.add(point(60))

    history.add(point(MOST_MINUTES + 30))

    assert [each.at for each in history.read()] == [point(60).at, point(MOST_MINUTES + 30).at]


def test_a_point_of_another_version_is_left_out_and_the_list_of_before_goes(redis_client: redis.Redis) -> None:
    history = FleetHistoryStore(redis_client)
    redis_client.rpush("{rhapsode}:fleet_history", "{}")
    history.add(point(0))
    redis_client.xadd(POINTS, {"version": "2", "what": "is not known yet"}, id=f"{AT_MS + MINUTE_MS}-0")

    assert history.add(point(2))

    assert history.read() == (point(0), point(2))
    assert not redis_client.exists("{rhapsode}:fleet_history")
