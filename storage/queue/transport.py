"""How a worker reads the broker: whatever looks like a ticket is one, and what else it says is not looked at.

A ticket carries no data. So Celery never gets the received message, but a copy of the one that it composed itself.
Foreign content in the list is never decoded or run. It cannot end the worker, as Celery does on messages with a wrong
number of arguments, again after each redelivery.

Anything that does not look like a ticket is deleted in the list, hundreds in one call: a flooded list delays no other
queue. The janitor replaces deleted tickets.

A broker that is there and refuses to write (its disk or its memory is full) is waited for. Celery takes such an answer
for its own fault and ends the worker.

A broker that is away, or whose host stands still, costs a worker no place: Celery leaves a ticket that it cannot
acknowledge in its taker's hands without end, and once all are so it reads no more, also from the broker that follows.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from queue import Empty
from typing import Any, Literal, cast

import redis
from celery.app.amqp import AMQP
from kombu.connection import Connection
from kombu.transport import redis as redis_transport
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ResponseError
from redis.exceptions import TimeoutError as RedisTimeoutError

from storage.database.failover import LettingGo
from storage.database.redis_errors import is_refusal
from storage.ids import WorkQueue
from storage.queue.messages import TICKET_TASK, TicketMessages

INTERVAL_S = 1.0


class RefusalCount:
    """Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._number = 0

    def add(self, number: int) -> None:
        """The line comes an interval after the first."""
        with self._lock:
            is_first = self._number == 0 and number > 0
            self._number += number
        if is_first:
            timer = threading.Timer(INTERVAL_S, self._tell)
            timer.daemon = True
            timer.start()

    def _tell(self) -> None:
        with self._lock:
            number, self._number = self._number, 0
        logger.warning("refused what is no ticket", extra={"messages": number})


logger = logging.getLogger(__name__)

TICKETS_OPTION = "tickets"
"""The transport option that holds the application's `TicketMessages`."""

SWEPT_AT_A_TIME = 500
"""Messages of one call: a millisecond or two of the broker's time."""

MOST_SWEEPS = 20
"""Of one list, after which Celery's loop has its turn; the next message that is no ticket restarts the count."""

_SWEPT_BYTES = 4_000_000
"""Of one call, as large messages are: after that much it ends, whatever their number."""

_MOST_TICKET_BYTES = 4_096

# KEYS[1]: a queue's list, whose end is taken first. ARGV: the most messages, their bytes, a ticket's task, a ticket's
# bytes at most. -> how many were thrown away, and 1 if there may be more before the next ticket
_SWEEP = """
local most, most_bytes, task, ticket_bytes = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])

-- As `_is_ticket`. Decoded is only what is short and names the task.
local function is_ticket(message)
  if #message > ticket_bytes or not string.find(message, task, 1, true) then return false end
  local is_json, ticket = pcall(cjson.decode, message)
  if not is_json or type(ticket) ~= 'table' or type(ticket.headers) ~= 'table' then return false end
  return ticket.headers.task == task and ticket['content-type'] == 'application/json'
end

local thrown, bytes = 0, 0
while thrown < most and bytes < most_bytes do
  local message = redis.call('LINDEX', KEYS[1], -1)
  if not message or is_ticket(message) then return {thrown, 0} end
  redis.call('LTRIM', KEYS[1], 0, -2)
  thrown, bytes = thrown + 1, bytes + #message
end
return {thrown, 1}
"""

REFUSED_PAUSE_S = 1.0
"""Between two looks at a broker that refuses. Celery's own thread sleeps; items under way go on in theirs."""

REST_AFTER_LOSS_S = 1.0
"""After a broker did not answer no ticket tries for so long: each of hundreds would wait for the time-out in turn, in
the thread that reads tickets."""

_AWAY = (RedisConnectionError, RedisTimeoutError, OSError)


class TicketQoS(redis_transport.QoS):
    """What is not noted of a ticket because the broker refuses or is away comes to nothing worse than a ticket too
    many. Its place is free in any case.
    """

    _rests_until_s = 0.0

    def ack(self, delivery_tag: str) -> None:
        if not self._is_noted("acknowledged", lambda: super(TicketQoS, self).ack(delivery_tag)):
            redis_transport.virtual.QoS.ack(self, delivery_tag)

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:  # noqa: FBT001, FBT002 - the base's
        if not self._is_noted("given back", lambda: super(TicketQoS, self).reject(delivery_tag, requeue)):
            redis_transport.virtual.QoS.ack(self, delivery_tag)

    def _is_noted(self, what: str, note: Callable[[], None]) -> bool:
        if time.monotonic() < self._rests_until_s:
            return False
        try:
            with _refusals_noted(what):
                note()
                return True
        except _AWAY as error:
            self._rests_until_s = time.monotonic() + REST_AFTER_LOSS_S
            logger.warning("a ticket was not %s: the broker is away", what, extra={"error": str(error)})
        return False

    def restore_visible(self, start: int = 0, num: int = 10, interval: int = 10) -> None:
        with _refusals_noted("restored"):
            super().restore_visible(start, num, interval)


class TicketChannel(redis_transport.Channel):
    """refused: of this process, whatever the number of its channels."""

    QoS = TicketQoS
    refused = RefusalCount()
    _last_client: redis.Redis | None = None

    def _create_client(self, asynchronous: bool = False) -> redis.Redis:  # noqa: FBT001, FBT002 - the base's
        """One for each pool. The base makes one for each call, which takes longer than the call."""
        if asynchronous:
            return super()._create_client(asynchronous=True)
        if self._last_client is None or self._last_client.connection_pool is not self.pool:
            self._last_client = super()._create_client()
        return self._last_client

    def _brpop_read(self, **options: object) -> Literal[True]:
        """As the base's. What came is gone from the list by then."""
        try:
            return super()._brpop_read(**options)
        except (ValueError, RecursionError, _NoTicket):
            # ValueError: not even a message.
            self.refused.add(1 + self._sweep())
            return True
        except ResponseError as error:
            if not is_refusal(error):
                raise
            logger.warning("the broker refuses to write: waiting", extra={"error": str(error)})
            time.sleep(REFUSED_PAUSE_S)
            raise Empty from error

    def _sweep(self) -> int:
        """Throw away what lies before the next ticket of every list that is read; returns how much."""
        thrown = 0
        with self.conn_or_acquire() as client, _refusals_noted("looked for"):
            for queue in self.active_queues:
                for step in self.priority_steps:
                    thrown += self._sweep_list(client, self._q_for_pri(queue, step))
        return thrown

    def _sweep_list(self, client: redis.Redis, name: str) -> int:
        thrown = 0
        for _ in range(MOST_SWEEPS):
            # The client spells the key of no EVAL.
            key = f"{self.global_keyprefix}{name}"
            bounds = str(SWEPT_AT_A_TIME), str(_SWEPT_BYTES), TICKET_TASK, str(_MOST_TICKET_BYTES)
            number, more = cast("tuple[int, int]", client.eval(_SWEEP, 1, key, *bounds))
            thrown += number
            if not more:
                break
        return thrown


class _NoTicket(Exception):
    """What came is thrown away."""


@contextmanager
def _refusals_noted(what: str) -> Generator[None]:
    try:
        yield
    except ResponseError as error:
        if not is_refusal(error):
            raise
        logger.warning("a ticket was not %s: the broker refuses to write", what, extra={"error": str(error)})


class FailoverTicketChannel(TicketChannel, redis_transport.SentinelChannel):
    """Of whichever server is the primary now."""

    connection_class = LettingGo


class _TicketDeliveries(redis_transport.Transport):
    def _deliver(self, message: object, queue: WorkQueue) -> None:
        if not _is_ticket(message):
            raise _NoTicket
        tickets: TicketMessages = self.client.transport_options[TICKETS_OPTION]
        (copy,) = tickets.draw(queue, 1)
        super()._deliver(json.loads(copy), queue)


class TicketTransport(_TicketDeliveries):
    Channel = TicketChannel


class FailoverTicketTransport(_TicketDeliveries, redis_transport.SentinelTransport):
    Channel = FailoverTicketChannel


RECONNECT_PAUSES = {"interval_start": 0.2, "interval_step": 0.2, "interval_max": 1.0}
"""Seconds between attempts at a connection: a failover takes seconds. Celery's own pauses grow by two of them,
up to thirty."""


class TicketConnection(Connection):
    def ensure_connection(self, *given: Any, **named: Any) -> Connection:  # noqa: ANN401 - the base's
        return super().ensure_connection(*given, **(RECONNECT_PAUSES | named))

    def get_transport_cls(self) -> type[_TicketDeliveries]:
        return FailoverTicketTransport if self.transport_cls == "sentinel" else TicketTransport


class TicketAmqp(AMQP):
    """For `Celery(amqp=...)`: every connection of the application reads tickets."""

    Connection = TicketConnection


def _is_ticket(message: object) -> bool:
    match message:
        case {"headers": {"task": task}, "content-type": "application/json"}:
            return task == TICKET_TASK
        case _:
            return False
