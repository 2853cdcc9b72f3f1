"""Points of the fleet's history, as the API's processes write them."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
import redis

from api.services.fleet_recorder import FleetRecorder, mean_pace, recording
from api.services.fleet_view import minute_of
from rhapsode.contract.jobs.states import JobClass
from rhapsode.contract.operators.fleet import EngineState
from storage.jobs.record import JobError
from storage.live.address import LiveAddress
from storage.queue.dead_letters import DeadLetters
from storage.queue.fleet_history import MINUTE_MS, FleetHistoryStore
from storage.queue.overview import ClassOverview, QueueOverview, QueueOverviews
from storage.queue.worker_registry import (
    ListedWorker,
    WorkerRegistry,
    WorkerReport,
    WorkerRole,
    WorkerState,
)
from storage.queue.worker_slots import WorkerSlots
from storage.runtime.config.settings import StorageSettings
from tests.api.harness import GPU_QUEUE, SMALL, serve, start_job
from tests.settings import api_settings_of
from tests.waiting import until

AT_MS = 1_790_000_040_000


def recorder(client: redis.Redis) -> FleetRecorder:
    return FleetRecorder(QueueOverviews(client), WorkerRegistry(client), DeadLetters(client), FleetHistoryStore(client))


def speaking(name: str, state: WorkerState, slots: int, **engine: float) -> ListedWorker:
    report = EngineState(active_requests=1, waiting_requests=0, audio_s_total=0, steps_total=0, restarts=0, **engine)
    live, other = (LiveAddress(f"ws://127.0.0.1:{port}", "secret", 8, 0, "r", streams=port) for port in (2, 1))
    return ListedWorker(
        WorkerReport(
            *(name, WorkerRole.GPU, "host", 1, "0.2", 0),
            leases=1,
            queue="gpu.m",
            slots=slots,
            engine=report,
            live=live,
            more_live=(other,),
        ),
        state,
        AT_MS,
    )


def test_a_point_sums_up_the_workers_that_respond(redis_client: redis.Redis) -> None:
    workers = (
        speaking("a", WorkerState.READY, 10, batch_fill=1.0, audio_s_per_s=30.0, step_ms=20.0),
        speaking("b", WorkerState.READY, 30, batch_fill=0.2, audio_s_per_s=10.0, step_ms=24.0),
        speaking("gone", WorkerState.UNRESPONSIVE, 99, batch_fill=1.0, audio_s_per_s=99.0, step_ms=99.0),
    )

    point = minute_of(QueueOverviews(redis_client).read(), workers, AT_MS, 38.5, 3)

    assert round(point.at.timestamp() * 1000) == AT_MS
    assert (point.workers, point.audio_s_per_s, point.batch_fill, point.given_up) == (2, 38.5, 0.4, 3)
    assert (point.step_ms_p50, point.step_ms_most, point.live_streams) == (22.0, 24.0, 6)
    assert (point.backlog_audio_s, point.drain_s, point.unfinished_jobs, point.oldest_wait_s) == (0.0, 0.0, 0, None)


def test_a_job_that_began_to_wait_this_millisecond_is_in_the_point(redis_client: redis.Redis) -> None:
    waiting = ClassOverview(backlog_ms=4_000, jobs=1, tenants=1, oldest_wait_ms=0, wait_p50_ms=0, wait_p95_ms=0)
    classes = {JobClass.BULK: ClassOverview(0, 0, 0), JobClass.INTERACTIVE: waiting}
    queue = QueueOverview("gpu.m", ready_items=1, slots=4, pace=0.0, batch_pace=0.0, classes=classes)

    point = minute_of(replace(QueueOverviews(redis_client).read(), queues=(queue,)), (), AT_MS, None, 0)

    assert (point.oldest_wait_s, point.wait_p50_s, point.wait_p95_s) == (0.0, 0.0, 0.0)


def test_a_point_without_workers_has_no_measurements(redis_client: redis.Redis) -> None:
    point = minute_of(QueueOverviews(redis_client).read(), (), AT_MS, None, 0)

    assert (point.workers, point.audio_s_per_s, point.batch_fill, point.step_ms_p50) == (0, None, None, None)


def test_the_mean_pace_counts_restarted_engines_from_zero_and_new_workers_not_yet() -> None:
    before = {("steady", 1): 100.0, ("restarted", 1): 50.0, ("gone", 1): 9.0}
    after = {("steady", 1): 160.0, ("restarted", 1): 30.0, ("new", 2): 7.0}

    assert mean_pace(0, before, 30_000, after) == pytest.approx(3.0)


def test_two_processes_record_one_point_a_minute(redis_client: redis.Redis) -> None:
    history, minutes = FleetHistoryStore(redis_client), {FleetHistoryStore(redis_client).now_ms() // MINUTE_MS}
    first, second = recorder(redis_client), recorder(redis_client)

    wrote = [each.record() for each in (first, second, first, second)]

    minutes.add(history.now_ms() // MINUTE_MS)
    points = history.read()
    assert wrote[0]
    assert sum(wrote) == len(points) <= len(minutes)


def test_the_loop_records_each_minute(redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two loops, as of two processes, wait for a minute of 0.2 s."""
    monkeypatch.setattr("api.services.fleet_recorder.MINUTE_MS", 200)
    history = FleetHistoryStore(redis_client)

    async def record() -> None:
        async with recording(recorder(redis_client)), recording(recorder(redis_client)), asyncio.timeout(30):
            while len(await asyncio.to_thread(history.read)) < 5:
                await asyncio.sleep(0.02)

    asyncio.run(record())

    times_ms = [round(point.at.timestamp() * 1000) for point in history.read()]
    assert all(at_ms % 200 == 0 for at_ms in times_ms)
    assert times_ms == sorted(set(times_ms))


def test_what_waits_since_when_and_what_failed_is_in_the_point(storage_settings: StorageSettings) -> None:
    with serve(api_settings_of(storage_settings)) as api:
        api.models.publish(SMALL)
        api.submit()
        api.jobs.fail(start_job(api, 1).lease, JobError("segment_quality", "It never passed.", 0))
        api.submit()
        start_job(api, 2)
        ours = recorder(api.redis)

        def has_recorded() -> bool:
            # The API may write this minute too, of what it saw earlier.
            api.redis.delete("{rhapsode}:fleet_points")
            return ours.record()

        until(has_recorded)

        point, *_ = api.http.get("/v1/admin/fleet-history").json()["data"]
        queues = api.http.get("/v1/admin/queues").json()
    assert (point["given_up"], point["dead_letters"], point["unfinished_jobs"]) == (1, 1, 1)
    assert point["backlog_audio_s"] == queues["totals"]["backlog_audio_s"] > 0
    assert 0 <= point["wait_p50_s"] == point["wait_p95_s"] == point["oldest_wait_s"] < 60
    # Without a measured pace the time left is unknown.
    assert point["drain_s"] is queues["totals"]["drain_s"] is None


def test_the_backlog_of_one_job_ends_when_the_job_does(storage_settings: StorageSettings) -> None:
    with serve(api_settings_of(storage_settings)) as api:
        api.models.publish(SMALL)
        WorkerSlots(api.redis).announce(GPU_QUEUE, "gpu-0", 4)
        for name, value in THROUGHPUT.items():
            api.redis.hset("{rhapsode}:throughput", f"{GPU_QUEUE}:{name}", str(value))
        job = api.submit("Good morning, everybody. " * 40)
        queue = next(each for each in api.http.get("/v1/admin/queues").json()["data"] if each["name"] == GPU_QUEUE)
        totals = api.http.get("/v1/admin/queues").json()["totals"]
        seen = api.http.get(f"/v1/jobs/{job['id']}").json()
        ours = api.http.get("/v1/jobs", params={"queue": GPU_QUEUE}).json()["data"]
        of_others = api.http.get("/v1/jobs", params={"queue": "gpu.other"}).json()["data"]

    assert queue["drain_s"] == totals["drain_s"] == pytest.approx(seen["progress"]["eta_s"], abs=0.2)
    assert sum(each["backlog_audio_s"] for each in queue["classes"]) == totals["backlog_audio_s"]
    assert ([each["id"] for each in ours], of_others) == ([job["id"]], [])


THROUGHPUT = {"audio_ms": 400_000, "busy_ms": 40_000, "engine_ms": 120_000, "at_ms": AT_MS}
"""Ten seconds of speech a second, in three segments at once."""
