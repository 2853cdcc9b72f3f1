"""How a worker reads the broker: whatever lies in a queue's list is one ticket, and what it says is not looked at.

A ticket tells nothing but that it is there. So none is handed on as it came: Celery gets a copy of the one that it
composed itself. Nothing that somebody else put into the list is decoded, run, or able to end the worker, which Celery
would on messages with the wrong number of arguments, and then again on the same one, given back, for ever.

A broker that is there and refuses to write (its disk or its memory is full) is waited for. Celery takes such an answer
for a fault of its own and ends the worker.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Generator
from contextlib import contextmanager
from queue import Empty
from typing import Literal

from celery.app.amqp import AMQP
from kombu.connection import Connection
from kombu.transport import redis as redis_transport
from redis.exceptions import ResponseError

from storage.database.redis_errors import is_refusal
from storage.ids import WorkQueue
from storage.queue.messages import TICKET_TASK, TicketMessages

logger = logging.getLogger(__name__)

TICKETS_OPTION = "tickets"
"""The transport option that holds the application's `TicketMessages`."""


REFUSED_PAUSE_S = 1.0
"""Between two looks at a broker that refuses. Celery's own thread sleeps; items under way go on in theirs."""


class TicketQoS(redis_transport.QoS):
    """What is not noted of a ticket because the broker refuses comes to nothing worse than a ticket too many."""

    def ack(self, delivery_tag: str) -> None:
        with _refusals_noted("acknowledged"):
            super().ack(delivery_tag)
            return
        redis_transport.virtual.QoS.ack(self, delivery_tag)

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:  # noqa: FBT001, FBT002 - the base's
        with _refusals_noted("given back"):
            super().reject(delivery_tag, requeue)
            return
        redis_transport.virtual.QoS.ack(self, delivery_tag)

    def restore_visible(self, start: int = 0, num: int = 10, interval: int = 10) -> None:
        with _refusals_noted("restored"):
            super().restore_visible(start, num, interval)


class TicketChannel(redis_transport.Channel):
    QoS = TicketQoS

    def _brpop_read(self, **options: object) -> Literal[True]:
        """As the base's. A list's entry that is not even a message is gone by then: a ticket lost."""
        try:
            return super()._brpop_read(**options)
        except (ValueError, RecursionError) as error:
            logger.warning("refused what is no message", extra={"error": type(error).__name__})
            raise Empty from error
        except ResponseError as error:
            if not is_refusal(error):
                raise
            logger.warning("the broker refuses to write: waiting", extra={"error": str(error)})
            time.sleep(REFUSED_PAUSE_S)
            raise Empty from error


@contextmanager
def _refusals_noted(what: str) -> Generator[None]:
    try:
        yield
    except ResponseError as error:
        if not is_refusal(error):
            raise
        logger.warning("a ticket was not %s: the broker refuses to write", what, extra={"error": str(error)})


class TicketTransport(redis_transport.Transport):
    Channel = TicketChannel

    def _deliver(self, message: object, queue: WorkQueue) -> None:
        tickets: TicketMessages = self.client.transport_options[TICKETS_OPTION]
        if not _is_ticket(message):
            logger.warning("refused what is no ticket", extra={"queue": queue})
        (copy,) = tickets.draw(queue, 1)
        super()._deliver(json.loads(copy), queue)


class TicketConnection(Connection):
    def get_transport_cls(self) -> type[TicketTransport]:
        return TicketTransport


class TicketAmqp(AMQP):
    """For `Celery(amqp=...)`: every connection of the application reads tickets."""

    Connection = TicketConnection


def _is_ticket(message: object) -> bool:
    """For the log: whether it looks like one."""
    match message:
        case {"headers": {"task": task}, "content-type": "application/json"}:
            return task == TICKET_TASK
        case _:
            return False
