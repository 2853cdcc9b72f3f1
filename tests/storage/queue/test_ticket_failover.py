"""The consumer of a worker that holds tickets comes back after its broker has gone, however it goes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from storage.database.embedded_valkey import EmbeddedRedis
from storage.jobs.tickets import Tickets
from storage.jobs.work_queues import CPU_QUEUE
from storage.queue.celery_queue import TicketQueue, create_celery
from storage.runtime.config.settings import StorageSettings
from tests.environment import without_settings
from tests.storage.database.failover_servers import WatchedServers, watched_servers
from tests.storage.queue import ticket_consumer
from tests.threads import join_in_time
from tests.waiting import until

HOLD_S = 0.4
BACK_WITHIN_S = 45.0
"""Far more than it takes, and less than the watch over a worker waits before it ends it."""


class Consumer:
    def __init__(self, settings: StorageSettings, taken: Path) -> None:
        self._taken = taken
        url = settings.redis_url.get_secret_value()
        self._process = subprocess.Popen(
            [sys.executable, "-m", ticket_consumer.__name__, url, str(taken), str(HOLD_S)],
            env=without_settings(os.environ),
        )

    def took_since(self, moment_s: float) -> bool:
        lines = self._taken.read_text().split("\n")[:-1] if self._taken.exists() else []
        return any(float(line) > moment_s for line in lines)

    def end(self) -> None:
        self._process.kill()
        self._process.wait()


@contextmanager
def tickets_sent(settings: StorageSettings) -> Generator[None]:
    """All the time, as by a janitor: more than are taken."""
    tickets, over = TicketQueue(create_celery(settings, "test")), threading.Event()

    def send() -> None:
        while not over.wait(0.1):
            tickets.send(Tickets({CPU_QUEUE: 1}))

    sending = threading.Thread(target=send)
    sending.start()
    try:
        yield
    finally:
        over.set()
        join_in_time(sending)
        tickets.close()


@pytest.mark.parametrize("fate", ["killed", "frozen"])
def test_a_consumer_with_tickets_in_its_hands_comes_back_after_a_failover(tmp_path: Path, fate: str) -> None:
    with watched_servers(tmp_path) as servers:
        settings = servers.settings()
        consumer = Consumer(settings, tmp_path / "taken")
        try:
            with tickets_sent(settings):
                until(lambda: consumer.took_since(0))
                lost = servers.primary()
                _strike(servers, lost, fate)
                until(lambda: servers.primary() != lost)
                followed_s = time.monotonic()
                # One that was taken before the end may be put down after it.
                until(lambda: consumer.took_since(followed_s + 2 * HOLD_S), within_s=BACK_WITHIN_S)
        finally:
            consumer.end()


def _strike(servers: WatchedServers, port: int, fate: str) -> None:
    if fate == "frozen":
        servers.freeze(port)
    else:
        servers.kill(port)


def test_a_ticket_that_cannot_be_acknowledged_leaves_its_place_free(tmp_path: Path) -> None:
    with EmbeddedRedis(tmp_path) as valkey:
        settings = StorageSettings.model_validate(
            {"redis_url": valkey.url, "broker_url": valkey.broker_url, "store": "s3://nowhere"}
        )
        app = create_celery(settings, "consumer", (CPU_QUEUE,))
        tickets = TicketQueue(create_celery(settings, "test"))
        tickets.send(Tickets({CPU_QUEUE: 2}))
        with app.connection_for_read() as connection:
            queue = app.amqp.queues[CPU_QUEUE].bind(connection.default_channel)
            held = [queue.get(), queue.get()]
            places = connection.default_channel.qos
            places.prefetch_count = 2
            assert not places.can_consume()
            assert valkey.pid is not None
            os.kill(valkey.pid, signal.SIGKILL)

            held[0].ack()
            held[1].reject(requeue=True)

            assert places.can_consume()
        tickets.close()
