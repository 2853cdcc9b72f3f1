"""A worker with two live processes: the door uses the places of both, and one goes on with the streams of the other."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import replace

import pytest
import redis

from api.http.problems.problem import HttpProblem
from api.live.stream import HeardStream
from storage.ids import TenantId
from storage.queue.model_registry import ModelRegistry
from storage.queue.worker_registry import WorkerRegistry, WorkerReport, WorkerRole
from storage.runtime.config.settings import StorageSettings
from tests.api.live.conftest import Opener
from tests.api.live.scripted_worker import order
from tests.process_tree import children_of, runs_module
from tests.waiting import until
from tests.worker.lifecycle.live.two_processes import TwoLiveProcesses
from worker.engine.process.engine_process import EngineProcess
from worker.engine.settings import FakeEngineSettings
from worker.lifecycle.live.processes import LiveProcesses
from worker.lifecycle.model_card import model_card

ANN, MODEL = TenantId("ann"), "fake"
TEXT = "The first sentence is this one. Here is another, which is longer than that. A third!"
LIVE_SLOTS = 4


@pytest.fixture
def worker(storage_settings: StorageSettings, redis_client: redis.Redis) -> Iterator[LiveProcesses]:
    """As the registry has it."""
    settings = TwoLiveProcesses(**storage_settings.model_dump(), engine="fake", slots=8)
    engine = EngineProcess(FakeEngineSettings(slots=8, live_slots=LIVE_SLOTS, step_s=0.02))
    engine.start()
    live = LiveProcesses(settings, "gpu-0", engine)
    live.start()
    ModelRegistry(redis_client, settings.key_prefix).publish(model_card(MODEL, engine.info, ()))
    first, *others = live.addresses()
    report = WorkerReport("gpu-0", WorkerRole.GPU, "here", 1, "1", 0, 0, model=MODEL, live=first)
    WorkerRegistry(redis_client, settings.key_prefix).report(replace(report, more_live=tuple(others)))
    yield live
    live.close()
    engine.close()


@pytest.mark.usefixtures("worker")
def test_a_door_fills_the_places_of_both(live_door: Opener) -> None:
    async def fill() -> None:
        async with live_door() as live, AsyncExitStack() as streams:
            for _ in range(LIVE_SLOTS):
                await streams.enter_async_context(await live.open(ANN, order(TEXT)))
            with pytest.raises(HttpProblem) as refused:
                await live.open(ANN, order(TEXT))

        assert refused.value.code == "live_full"

    asyncio.run(fill())


def test_streams_of_a_killed_process_go_on_with_the_other(live_door: Opener, worker: LiveProcesses) -> None:
    async def listen() -> None:
        async with live_door() as live, await live.open(ANN, order(TEXT)) as first:
            whole = await _heard(first)
            async with await live.open(ANN, order(TEXT)) as one, await live.open(ANN, order(TEXT)) as two:
                heard = [asyncio.create_task(_heard(each)) for each in (one, two)]
                await asyncio.to_thread(until, lambda: [each.streams for each in worker.addresses()] == [1, 1])
                os.kill(_pids()[0], signal.SIGKILL)
                assert [await each for each in heard] == [whole, whole]
                assert sorted([one.num_places, two.num_places]) == [1, 2]

    asyncio.run(listen())


async def _heard(stream: HeardStream) -> bytes:
    return b"".join([chunk.pcm async for chunk in stream.chunks()])


def _pids() -> list[int]:
    return [each for each in children_of(os.getpid()) if runs_module(each, "worker.lifecycle.live.process")]
