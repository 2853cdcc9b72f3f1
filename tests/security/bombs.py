"""Messages that somebody might write into the broker who wants to run something, or to end the worker that reads it."""

from __future__ import annotations

import base64
import json
import pickle
from pathlib import Path
from typing import Any, cast

from storage.jobs.work_queues import CPU_QUEUE
from storage.queue.celery_queue import create_celery
from storage.queue.messages import TicketMessages
from storage.runtime.config.settings import StorageSettings


class Touch:
    """Unpickled, it makes a file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self._path,)


def true_ticket(settings: StorageSettings) -> dict[str, Any]:
    """A ticket as it is sent, for the bombs to differ from in one thing each."""
    return json.loads(TicketMessages(create_celery(settings, "tests")).draw(CPU_QUEUE, 1)[0])


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
