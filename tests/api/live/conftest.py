from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

import pytest

from api.live.speech import LiveSpeech, open_live
from storage.database.connections import connect_redis, connect_redis_async
from storage.queue.worker_registry import WorkerRegistry
from storage.runtime.config.settings import StorageSettings
from storage.tenants.live_streams import LiveStreamLedger
from tests.api.live.scripted_worker import ScriptedWorker

Opener = Callable[..., AbstractAsyncContextManager[LiveSpeech]]


@pytest.fixture
def live_door(storage_settings: StorageSettings) -> Opener:
    """Opens a process's door to these workers, on the test's own Redis."""

    @asynccontextmanager
    async def open_door(*workers: ScriptedWorker, max_streams: int = 1000) -> AsyncGenerator[LiveSpeech]:
        async with AsyncExitStack() as stack:
            client = stack.enter_context(connect_redis(storage_settings))
            registry = WorkerRegistry(client, storage_settings.key_prefix)
            for worker in workers:
                await stack.enter_async_context(worker.serving())
                await asyncio.to_thread(registry.report, worker.report())
            events = connect_redis_async(storage_settings)
            stack.push_async_callback(events.aclose)
            ledger = LiveStreamLedger(events, storage_settings.key_prefix, max_streams)
            live = await stack.enter_async_context(
                open_live(registry, ledger, storage_settings.tls_files, lambda tenant: "default")
            )
            yield live

    return open_door
