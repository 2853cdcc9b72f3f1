"""Tickets: Celery messages without arguments that say "there is an item in this queue".

Nothing rests on a ticket. Which item is next is the job store's knowledge; a lost ticket is replaced by the
janitor from the counts, a surplus one finds nothing and ends. That is why sending may fail quietly (counted
and logged) and why no setting below tries to make Celery's delivery safe.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast
from urllib.parse import quote, urlsplit

import redis
from celery import Celery
from kombu.exceptions import KombuError, LimitExceeded, OperationalError
from redis.exceptions import RedisError

from storage.database.failover import sentinel_options
from storage.errors import StoreUnavailable
from storage.ids import WorkQueue
from storage.jobs.tickets import Tickets
from storage.queue.messages import TICKET_TASK as TICKET_TASK
from storage.queue.messages import TicketMessages, celery_queue
from storage.queue.transport import TICKETS_OPTION, TicketAmqp
from storage.runtime.config.sentinel_url import is_sentinel_url, parse_sentinel_url
from storage.runtime.config.settings import StorageSettings
from storage.runtime.observability.metrics import TICKETS_UNSENT

logger = logging.getLogger(__name__)

BATCH_SIZE = 200
MAX_CONNECTIONS = 8

SEND_TIMEOUT_S = 2.0
"""How long one try waits for a broker that accepts and says nothing; there are two tries."""

REST_AFTER_FAILURE_S = 1.0
"""After a failure no thread tries for so long: forty threads must not queue up behind a dead broker's time-out. The
janitor's sweep, which replaces what was not sent, has the same period."""

_BROKER_TROUBLE = (KombuError, RedisError, OSError)


def create_celery(settings: StorageSettings, app_name: str, consumed: Sequence[WorkQueue] = ()) -> Celery:
    """The Celery application of a producer or a worker; both sides must agree on every line of it.

    consumed: what a worker of this application takes tickets from. A process that only sends need not know any queue.
    """
    amqp = TicketAmqp if consumed else None
    app = Celery(app_name, broker=kombu_url(settings), backend=None, set_as_current=False, amqp=amqp)
    app.conf.update(
        task_serializer="json",
        accept_content=["json"],
        task_queues=[celery_queue(queue) for queue in consumed],
        task_create_missing_queues=False,
        task_ignore_result=True,
        task_store_errors_even_if_ignored=False,
        # Late, so that a busy worker does not park tickets that an idle one could run.
        task_acks_late=True,
        task_acks_on_failure_or_timeout=True,
        worker_prefetch_multiplier=1,
        task_publish_retry=False,
        worker_enable_remote_control=False,
        worker_send_task_events=False,
        task_send_sent_event=False,
        worker_hijack_root_logger=False,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_pool_limit=MAX_CONNECTIONS,
        # The lease decides whether work is still wanted, not the broker's connection.
        worker_cancel_long_running_tasks_on_connection_loss=False,
        worker_soft_shutdown_timeout=20.0,
        broker_transport_options=_transport_options(settings) | {TICKETS_OPTION: TicketMessages(app)},
    )
    return app


class TicketQueue:
    """The sending side. Safe to share between threads."""

    def __init__(self, celery: Celery) -> None:
        self._messages = TicketMessages(celery)
        options = dict(celery.conf.broker_transport_options) | {
            "socket_timeout": SEND_TIMEOUT_S,
            "socket_connect_timeout": SEND_TIMEOUT_S,
            "max_retries": 1,
            "interval_start": 0.05,
            "interval_step": 0.05,
            "interval_max": 0.1,
        }
        self._connection = celery.connection_for_write(transport_options=options)
        self._client: redis.Redis | None = None
        self._connecting = threading.Lock()
        self._turns = threading.BoundedSemaphore(MAX_CONNECTIONS)
        self._lock = threading.Lock()
        self._unsent = 0
        self._rest_until = 0.0

    @property
    def unsent(self) -> int:
        """How many tickets the broker did not take; the janitor sends them again from its counts."""
        return self._unsent

    def send(self, tickets: Tickets) -> None:
        """Send as many tickets as items became ready. Never raises for broker trouble, and returns in seconds."""
        total = tickets.total()
        if total == 0:
            return
        if time.monotonic() < self._rest_until:
            self._count_unsent(total)
            return
        try:
            with self._broker() as client:
                self._publish(client, tickets)
        except _BROKER_TROUBLE as error:
            self._rest_until = time.monotonic() + REST_AFTER_FAILURE_S
            self._count_unsent(total)
            logger.warning("tickets not sent", extra={"unsent": total, "error": str(error)})

    def waiting(self, queue: WorkQueue) -> int:
        """Tickets in the broker that no worker has taken. Raises `StoreUnavailable`."""
        try:
            with self._broker() as client:
                return int(str(client.llen(queue)))
        except _BROKER_TROUBLE as error:
            raise StoreUnavailable(f"the broker does not answer: {error}") from error

    @contextmanager
    def _broker(self) -> Generator[redis.Redis]:
        """The transport's own client, which spells keys with their prefix. It has connections for several threads;
        kombu's pool wants a client for each, and a tenth of a millisecond at every use of it.
        """
        if not self._turns.acquire(timeout=SEND_TIMEOUT_S):
            raise LimitExceeded(MAX_CONNECTIONS)
        try:
            yield self._client or self._connect()
        except _BROKER_TROUBLE:
            self.close()
            raise
        finally:
            self._turns.release()

    def _connect(self) -> redis.Redis:
        with self._connecting:
            if self._client is None:
                self._client = self._reach_broker()
            return self._client

    def _reach_broker(self) -> redis.Redis:
        """A thread that waited while another one failed does not try again."""
        if time.monotonic() < self._rest_until:
            raise OperationalError("the broker was away a moment ago")
        try:
            return cast("redis.Redis", self._connection.default_channel.client)
        except _BROKER_TROUBLE:
            self._rest_until = time.monotonic() + REST_AFTER_FAILURE_S
            raise

    def close(self) -> None:
        """The next use opens a new connection, to another broker if the address names several."""
        with self._connecting:
            self._client = None
            self._connection.release()

    def _publish(self, client: redis.Redis, wanted: Mapping[WorkQueue, int]) -> None:
        """A list is what the transport keeps a queue in."""
        for queue, count in wanted.items():
            for start in range(0, count, BATCH_SIZE):
                client.lpush(queue, *self._messages.draw(queue, min(BATCH_SIZE, count - start)))

    def _count_unsent(self, number: int) -> None:
        with self._lock:
            self._unsent += number
        TICKETS_UNSENT.inc(number)


def kombu_url(settings: StorageSettings) -> str:
    """The broker in kombu's spelling, which knows a Sentinel by a URL each."""
    given = settings.broker_url.get_secret_value()
    if not is_sentinel_url(given):
        return settings.tls_files.redis_url(given)
    url = parse_sentinel_url(given)
    user = f"{quote(url.username or '', safe='')}:{quote(url.password or '', safe='')}@" if url.password else ""
    hosts = (f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in url.sentinels)
    return ";".join(f"sentinel://{user}{host}/{url.database}" for host in hosts)


def _transport_options(settings: StorageSettings) -> dict[str, Any]:
    options: dict[str, Any] = {
        "global_keyprefix": f"{settings.key_prefix}:b:",
        "visibility_timeout": 900,
        "unacked_restore_interval": 10,
        "unacked_restore_throttle": 1,
        # A host that stands still says nothing and closes nothing. The broker answers within a second when there is no
        # ticket, so after two or three more it is taken for away.
        "socket_timeout": 1.5,
        "socket_connect_timeout": 3,
        "health_check_interval": 2,
    }
    given = settings.broker_url.get_secret_value()
    if urlsplit(given).scheme != "redis+socket":
        options["socket_keepalive"] = True
    if is_sentinel_url(given):
        # Which service the Sentinels are asked for.
        url = parse_sentinel_url(given)
        options |= {"master_name": url.service, "sentinel_kwargs": sentinel_options(url)}
    return options
