"""Whoever can write into the broker cannot run anything, nor stop a worker: what is no ticket is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from rhapsode.contract.jobs.states import JobState
from storage.database.embedded_valkey import EmbeddedRedis
from storage.jobs.work_queues import CPU_QUEUE, Lane
from storage.runtime.config.settings import StorageSettings
from tests.security.bombs import NO_ENVELOPE, bombs, true_ticket
from tests.worker.process.test_processes import System
from tests.worker.studio import TEXT

QUEUE = f"rhapsode:b:{CPU_QUEUE}"


@pytest.fixture
def system(storage_settings: StorageSettings, valkey: EmbeddedRedis, tmp_path: Path) -> Iterator[System]:
    system = System(storage_settings, tmp_path)
    yield system
    system.close()


@pytest.fixture
def broker(storage_settings: StorageSettings, valkey: EmbeddedRedis) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(valkey.url.replace("db=0", "db=1")) as client:
        yield client


@pytest.mark.faults
def test_row_46_no_message_runs_anything_or_ends_the_worker(
    system: System, storage_settings: StorageSettings, broker: redis.Redis, tmp_path: Path
) -> None:
    canary = tmp_path / "canary"
    ticket = true_ticket(storage_settings)
    worker = system.worker(Lane.CPU)
    system.worker(Lane.GPU)
    system.finished(system.submit(TEXT))

    for name, message in (bombs(ticket, canary) | {repr(each): each for each in NO_ENVELOPE}).items():
        broker.rpush(QUEUE, message)
        system.wait(lambda: broker.llen(QUEUE) == 0, 20)
        assert worker.poll() is None, f"{name} ended the worker: {system.log('cpu.log')[-2000:]}"

    record = system.finished(system.submit(TEXT))
    assert record.state is JobState.SUCCEEDED
    assert worker.poll() is None
    assert not canary.exists()
    system.wait(lambda: "refused what is no ticket" in system.log("cpu.log"), 60)
    assert system.jobs.audit_counters() == ()
