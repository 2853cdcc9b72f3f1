"""Whoever can write into the broker cannot run anything, nor stop a worker: what is no ticket is refused."""

from __future__ import annotations

import base64
import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
import redis

from storage.embedded_redis import EmbeddedRedis
from storage.jobs import JobState, Lane, Tickets
from storage.queue import TicketQueue, create_celery
from storage.settings import StorageSettings
from storage.work_queues import CPU_QUEUE
from tests.worker.studio import TEXT
from tests.worker.test_processes import System

QUEUE = f"rhapsode:b:{CPU_QUEUE}"


class Touch:
    """Unpickled, it makes a file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self._path,)


@pytest.fixture
def system(storage_settings: StorageSettings, valkey: EmbeddedRedis, tmp_path: Path) -> Iterator[System]:
    system = System(storage_settings, tmp_path)
    yield system
    system.close()


@pytest.fixture
def broker(storage_settings: StorageSettings, valkey: EmbeddedRedis) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(valkey.url.replace("db=0", "db=1")) as client:
        yield client


def true_ticket(settings: StorageSettings, broker: redis.Redis) -> dict[str, Any]:
    """A ticket as Celery writes it, for the bombs to differ from in one thing each."""
    tickets = TicketQueue(create_celery(settings, "tests"))
    tickets.send(Tickets({CPU_QUEUE: 1}))
    tickets.close()
    return json.loads(cast("bytes", broker.lpop(QUEUE)))


def changed(ticket: dict[str, Any], body: bytes | None = None, **more: object) -> bytes:
    message = json.loads(json.dumps(ticket))
    headers = cast("dict[str, object]", more.pop("headers", {}))
    message["headers"] |= headers
    message |= more
    if body is not None:
        message["body"] = base64.b64encode(body).decode()
    return json.dumps(message).encode()


def bombs(ticket: dict[str, Any], canary: Path) -> dict[str, bytes]:
    pickled = pickle.dumps(((), {}, Touch(canary)))
    yaml = f"!!python/object/apply:os.system ['touch {canary}']".encode()
    arguments = json.dumps([[str(canary)], {"__reduce__": "os.system"}, {"callbacks": None}]).encode()
    return {
        "pickle": changed(ticket, pickled, **{"content-type": "application/x-python-serialize"}),
        "pickle that calls itself JSON": changed(ticket, pickled),
        "yaml": changed(ticket, yaml, **{"content-type": "application/x-yaml"}),
        "an unknown kind": changed(ticket, b"x", **{"content-type": "application/data"}),
        "ten megabytes": changed(ticket, json.dumps([["x" * 10_000_000], {}, {}]).encode()),
        "ten megabytes of brackets": changed(ticket, b"[" * 10_000_000),
        "arguments": changed(ticket, arguments),
        "another task": changed(ticket, headers={"task": "os.system"}),
        "Celery's own task": changed(ticket, headers={"task": "celery.backend_cleanup"}),
        "no task": changed(ticket, headers={"task": None}),
        "a time limit": changed(ticket, headers={"timelimit": ["x", {}]}),
        "an ETA of nonsense": changed(ticket, headers={"eta": "the day after"}),
        "no headers": changed(ticket).replace(b'"headers"', b'"heads"'),
        "an unknown compression": changed(ticket, headers={"compression": "application/x-bomb"}),
        "an unknown encoding": changed(ticket, properties={**ticket["properties"], "body_encoding": "rot13"}),
    }


NO_ENVELOPE = (b"", b"not JSON", b"[]", b"null", b"{}", b'{"body": 1}', b"\x80\x04\x95", b'{"properties": []}')
"""What is not even a message of kombu's."""


@pytest.mark.faults
def test_row_46_no_message_runs_anything_or_ends_the_worker(
    system: System, storage_settings: StorageSettings, broker: redis.Redis, tmp_path: Path
) -> None:
    canary = tmp_path / "canary"
    ticket = true_ticket(storage_settings, broker)
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
    assert "refused what is no ticket" in system.log("cpu.log")
    assert "refused what is no message" in system.log("cpu.log")
    assert system.jobs.recount().differences == ()
