"""The messages that carry tickets: Celery composes one for each queue, and every ticket is a copy with new ids.

All tickets of a queue are equal, so they are composed once. Composing takes 0.3 ms of a submit's 2 ms. What is copied
is what Celery really hands to a broker, taken from a transport that keeps it instead of sending.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from celery import Celery
from kombu.connection import Connection
from kombu.entity import Queue
from kombu.messaging import Producer
from kombu.transport import virtual

from storage.ids import WorkQueue

TICKET_TASK = "rhapsode.ticket"


class TicketMessages:
    """Safe to share between threads: at worst two of them compose the same."""

    def __init__(self, celery: Celery) -> None:
        self._celery = celery
        self._patterns: dict[WorkQueue, _Pattern] = {}

    def draw(self, queue: WorkQueue, count: int) -> list[str]:
        """So many tickets, as the broker's list for `queue` holds them."""
        pattern = self._patterns.get(queue)
        if pattern is None:
            pattern = self._patterns[queue] = _Pattern(self._celery, queue)
        return [pattern.copy() for _ in range(count)]


def celery_queue(queue: WorkQueue) -> Queue:
    """Without a named exchange: its binding would be lost with a flushed broker, and every later ticket with it."""
    return Queue(queue, no_declare=True)


class _Pattern:
    def __init__(self, celery: Celery, queue: WorkQueue) -> None:
        self._task_id = uuid4().hex
        message = _composed(celery, queue, self._task_id)
        self._delivery_tag = str(message["properties"]["delivery_tag"])
        self._text = json.dumps(message)

    def copy(self) -> str:
        return self._text.replace(self._task_id, str(uuid4())).replace(self._delivery_tag, str(uuid4()))


def _composed(celery: Celery, queue: WorkQueue, task_id: str) -> dict[str, Any]:
    kept: list[dict[str, Any]] = []
    with Connection(transport=_KeepingTransport, transport_options={"kept": kept}) as connection:
        celery.send_task(
            TICKET_TASK,
            task_id=task_id,
            queue=celery_queue(queue),
            producer=Producer(connection.channel()),
            retry=False,
            add_to_parent=False,
        )
    return kept[0]


class _KeepingChannel(virtual.Channel):
    from_transport_options: Sequence[str] = (*virtual.Channel.from_transport_options, "kept")
    kept: list[dict[str, Any]]

    def _put(self, queue: str, message: dict[str, Any], **_: object) -> None:
        self.kept.append(message)


class _KeepingTransport(virtual.Transport):
    Channel = _KeepingChannel
