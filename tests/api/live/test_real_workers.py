"""The door and real live servers: streams whose workers leave, are killed and stopped are heard as if nothing was."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import Process
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import redis

from api.live.speech import LiveSpeech
from api.live.stream import LiveStream
from storage.ids import TenantId
from storage.objects.local_store import LocalArtifactStore
from storage.runtime.config.settings import StorageSettings
from tests.api.live.conftest import Opener
from tests.api.live.scripted_worker import order
from tests.api.live.speaking_worker import speaking_worker

ANN = TenantId("ann")
TEXT = "The first sentence is this one. Here is another, which is longer than that. A third!"


async def hear(stream: LiveStream) -> bytes:
    return b"".join([chunk.pcm async for chunk in stream.chunks()])


async def undisturbed(live: LiveSpeech, **more: object) -> bytes:
    async with await live.open(ANN, order(TEXT, **more)) as stream:
        return await hear(stream)


@pytest.mark.parametrize("text_mode", ["per_frame", "whole"])
def test_a_stream_that_is_handed_over_is_heard_as_if_it_was_not(
    live_door: Opener, redis_client: redis.Redis, local_store: LocalArtifactStore, text_mode: str
) -> None:
    async def listen() -> None:
        with (
            speaking_worker(redis_client, local_store, name="one", step_s=0.005) as one,
            speaking_worker(redis_client, local_store, name="two", step_s=0.005) as two,
        ):
            async with live_door() as live:
                whole = await undisturbed(live, text_mode=text_mode)
                async with await live.open(ANN, order(TEXT, text_mode=text_mode)) as stream:
                    first = one if stream.worker == "one" else two
                    heard = b""
                    async for chunk in stream.chunks():
                        heard += chunk.pcm
                        if stream.num_places == 1 and len(heard) > len(whole) // 3:
                            await asyncio.to_thread(first.server.close)
                    assert stream.num_places == 2
                    assert heard == whole

    asyncio.run(listen())


def test_text_in_pieces_is_spoken_as_it_is_whole(
    live_door: Opener, redis_client: redis.Redis, local_store: LocalArtifactStore
) -> None:
    async def listen() -> None:
        with speaking_worker(redis_client, local_store):
            async with live_door() as live, await live.open(ANN, order("", text_is_open=True)) as stream:
                for word in TEXT.split(" "):
                    await stream.extend(f"{word} ", is_last=False)
                await stream.extend("", is_last=True)
                assert await hear(stream) == await undisturbed(live)

    asyncio.run(listen())


def test_who_leaves_frees_the_engine(
    live_door: Opener, redis_client: redis.Redis, local_store: LocalArtifactStore
) -> None:
    async def listen() -> None:
        with speaking_worker(redis_client, local_store, live_slots=1, step_s=0.02) as worker:
            async with live_door() as live:
                async with await live.open(ANN, order(TEXT)) as stream:
                    async for _ in stream.chunks():
                        break
                async with asyncio.timeout(60):
                    while worker.engine.stats().active:
                        await asyncio.sleep(0.01)
                await undisturbed(live)

    asyncio.run(listen())


async def started(stack: AsyncExitStack, settings: StorageSettings, folder: Path, name: str) -> Process:
    """A worker's live server in a process of its own, once it is announced."""
    urls = [each.get_secret_value() for each in (settings.redis_url, settings.broker_url)]
    command = (sys.executable, "-m", "tests.api.live.speaking_worker", name, *urls, str(folder), "8", "0.04")
    worker = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    stack.push_async_callback(ended, worker)
    assert worker.stdout is not None
    assert (await worker.stdout.readline()).startswith(b"ws://")
    return worker


async def ended(worker: Process) -> None:
    if worker.returncode is None:
        worker.kill()
    await worker.wait()


def test_streams_outlive_workers_that_are_killed_and_stopped(
    live_door: Opener, storage_settings: StorageSettings, tmp_path: Path
) -> None:
    """Six streams at three processes, of which one is killed, and then one is stopped."""

    async def listen() -> None:
        async with AsyncExitStack() as stack:
            names = ("one", "two", "three")
            starting = [started(stack, storage_settings, tmp_path, name) for name in names]
            killed, stopped, _ = await asyncio.gather(*starting)
            live = await stack.enter_async_context(live_door())
            whole = await undisturbed(live)
            streams = [await stack.enter_async_context(await live.open(ANN, order(TEXT))) for _ in range(6)]
            assert {stream.worker for stream in streams} == set(names)
            hearing = [asyncio.create_task(hear(stream)) for stream in streams]
            await asyncio.sleep(0.3)
            killed.kill()
            await asyncio.sleep(0.3)
            os.kill(stopped.pid, signal.SIGSTOP)
            assert all(heard == whole for heard in await asyncio.gather(*hearing))
            assert {stream.worker for stream in streams} == {"three"}
            assert [stream.outcome for stream in streams] == ["done"] * 6

    asyncio.run(listen())
