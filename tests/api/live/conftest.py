from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial

import pytest

from api.live.patience import LivePatience
from api.live.speech import LiveSpeech, open_live
from storage.database.connections import connect_redis, connect_redis_async
from storage.queue.recent_models import RecentModels
from storage.queue.worker_registry import WorkerRegistry
from storage.runtime.config.settings import StorageSettings
from storage.tenants.live_streams import LiveStreamLedger
from tests.api.live.scripted_worker import ScriptedWorker

PATIENCE = LivePatience(resume_s=60.0, drain_s=15.0, lateness_s=30.0, slowest_pace=0.25)

Opener = Callable[..., AbstractAsyncContextManager[LiveSpeech]]


@asynccontextmanager
async def opened_door(
    settings: StorageSettings,
    *workers: ScriptedWorker,
    max_streams: int = 1000,
    patience: LivePatience = PATIENCE,
) -> AsyncGenerator[LiveSpeech]:
    """A process's door to these workers, which it serves, and to those that others do."""
    async with AsyncExitStack() as stack:
        client = stack.enter_context(connect_redis(settings))
        registry = WorkerRegistry(client, settings.key_prefix)
        for worker in workers:
            await stack.enter_async_context(worker.serving())
            await asyncio.to_thread(registry.report, worker.report())
        events = connect_redis_async(settings)
        stack.push_async_callback(events.aclose)
        ledger = LiveStreamLedger(events, settings.key_prefix, max_streams)
        models = RecentModels(client, settings.key_prefix)
        yield await stack.enter_async_context(open_live(registry, models, ledger, settings.tls_files, patience))


@pytest.fixture
def live_door(storage_settings: StorageSettings) -> Opener:
    """`opened_door` on the test's own Redis."""
    return partial(opened_door, storage_settings)
