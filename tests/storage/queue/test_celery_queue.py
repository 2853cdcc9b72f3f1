from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from itertools import repeat
from pathlib import Path

import pytest
import redis
from pydantic import SecretStr

from storage.database.embedded_valkey import EmbeddedRedis
from storage.errors import StoreUnavailable
from storage.jobs.tickets import Tickets
from storage.jobs.work_queues import CPU_QUEUE, speech_queue
from storage.queue.celery_queue import REST_AFTER_FAILURE_S, TicketQueue, create_celery
from storage.queue.messages import TICKET_TASK, TicketMessages
from storage.queue.transport import INTERVAL_S
from storage.runtime.config.settings import StorageSettings
from tests.environment import settings_of_stores, without_settings
from tests.threads import BoundedExecutor
from tests.waiting import until

GPU_QUEUE = speech_queue("small")

WORKER = """
import logging
import redis
from storage.queue.celery_queue import TICKET_TASK, create_celery
from storage.runtime.config.settings import load_settings, StorageSettings
from storage.jobs.work_queues import CPU_QUEUE, speech_queue

logging.basicConfig(format="%(message)s %(messages)s", level=logging.WARNING)
logging.getLogger().handlers[0].addFilter(lambda record: hasattr(record, "messages"))
settings = load_settings(StorageSettings)
app = create_celery(settings, "test-worker", consumed=(CPU_QUEUE, speech_queue("small")))
done = redis.Redis.from_url(settings.redis_url.get_secret_value())

@app.task(name=TICKET_TASK, bind=True)
def ticket(self) -> None:
    done.rpush("ran", self.request.delivery_info["routing_key"])

app.worker_main([
    "worker", "--pool", "threads", "--concurrency", "2", "--loglevel", "WARNING",
    "--without-mingle", "--without-gossip", "--without-heartbeat",
])
"""


@contextlib.contextmanager
def opened(settings: StorageSettings) -> Generator[TicketQueue]:
    app = create_celery(settings, "test")
    queue = TicketQueue(app)
    try:
        yield queue
    finally:
        queue.close()
        app.close()


@pytest.fixture
def queue(storage_settings: StorageSettings) -> Iterator[TicketQueue]:
    with opened(storage_settings) as queue:
        yield queue


@pytest.fixture
def broker(valkey: EmbeddedRedis) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(valkey.url.replace("db=0", "db=1"), decode_responses=True) as client:
        yield client


def without_broker(broker_url: str, tmp_path: Path) -> StorageSettings:
    return StorageSettings(
        broker_url=SecretStr(broker_url), store=f"file://{tmp_path}", url_secret=SecretStr("a-secret-for-tests-only")
    )


def test_every_ticket_waits_in_the_queue_of_its_lane(queue: TicketQueue, broker: redis.Redis) -> None:
    queue.send(Tickets({CPU_QUEUE: 3, GPU_QUEUE: 407}))

    assert (queue.waiting(CPU_QUEUE), queue.waiting(GPU_QUEUE)) == (3, 407)
    assert (broker.llen("rhapsode:b:cpu"), broker.llen("rhapsode:b:gpu.small")) == (3, 407)
    assert queue.unsent == 0


def test_no_tickets_are_no_message_and_no_connection(tmp_path: Path) -> None:
    with opened(without_broker("redis+socket:///nowhere?virtual_host=1", tmp_path)) as queue:
        queue.send(Tickets())

        assert queue.unsent == 0


def test_a_worker_runs_every_ticket_over_a_unix_socket_with_a_password(
    queue: TicketQueue, storage_settings: StorageSettings, redis_client: redis.Redis, broker: redis.Redis
) -> None:
    queue.send(Tickets({CPU_QUEUE: 2, GPU_QUEUE: 3}))
    with worker_of(storage_settings):
        until(lambda: redis_client.llen("ran") == 5)
        # A flushed broker loses tickets, but never the way to a queue.
        broker.flushdb()
        queue.send(Tickets({CPU_QUEUE: 1, GPU_QUEUE: 1}))
        until(lambda: redis_client.llen("ran") == 7)
        assert queue.waiting(CPU_QUEUE) == queue.waiting(GPU_QUEUE) == 0
        until(lambda: broker.hlen("rhapsode:b:unacked") == 0)

    assert sorted(redis_client.lrange("ran", 0, -1)) == ["cpu"] * 3 + ["gpu.small"] * 4
    assert all(key.startswith("rhapsode:b:") for key in broker.scan_iter())


@pytest.mark.parametrize("kind", ["no disk", "no memory"])
def test_a_worker_waits_for_a_broker_that_refuses_to_write(short_dir: Path, tmp_path: Path, kind: str) -> None:
    folder = short_dir / f"refusing-{kind[3:]}"
    server = EmbeddedRedis(folder)
    server.start()
    settings = without_broker(server.broker_url, tmp_path).model_copy(update={"redis_url": SecretStr(server.url)})
    try:
        with redis.Redis.from_url(server.url, decode_responses=True) as client, opened(settings) as queue:
            worker = subprocess.Popen(
                [sys.executable, "-c", WORKER],
                env=without_settings(os.environ)
                | {
                    "RHAPSODE_REDIS_URL": server.url,
                    "RHAPSODE_BROKER_URL": server.broker_url,
                    "RHAPSODE_STORE": f"file://{tmp_path}",
                    "RHAPSODE_URL_SECRET": "a-secret-for-tests-only",
                    "C_FORCE_ROOT": "1",
                },
            )
            try:
                queue.send(Tickets({CPU_QUEUE: 1}))
                until(lambda: client.llen("ran") == 1)
                with refusing(client, folder, kind):
                    time.sleep(3)
                    assert worker.poll() is None
                until(lambda: accepts_writes(client))
                time.sleep(REST_AFTER_FAILURE_S)
                queue.send(Tickets({CPU_QUEUE: 2}))
                until(lambda: client.llen("ran") == 3)
            finally:
                worker.terminate()
                worker.wait(30)
    finally:
        server.stop()


@contextlib.contextmanager
def refusing(client: redis.Redis, folder: Path, kind: str) -> Generator[None]:
    """The server answers MISCONF, as with a full disk, or OOM, as with full memory, to every write."""
    if kind == "no memory":
        client.config_set("maxmemory", 1)
        yield
        client.config_set("maxmemory", 0)
        return
    in_the_way = folder / "dump.rdb" / "in the way"
    in_the_way.mkdir(parents=True)
    client.config_set("save", "1 1")
    with contextlib.suppress(redis.ResponseError):  # it may have begun to save by itself
        client.bgsave()
    until(lambda: not accepts_writes(client))
    yield
    client.config_set("save", "")


def accepts_writes(client: redis.Redis) -> bool:
    try:
        client.set("probe", 1)
    except redis.ResponseError:
        return False
    return True


def test_what_is_no_ticket_is_thrown_away_by_the_hundred_and_told_in_a_line(
    queue: TicketQueue,
    storage_settings: StorageSettings,
    redis_client: redis.Redis,
    broker: redis.Redis,
    capfd: pytest.CaptureFixture[str],
) -> None:
    broker.config_resetstat()
    (ticket,) = TicketMessages(create_celery(storage_settings, "test")).draw(CPU_QUEUE, 1)
    for _ in range(40):
        broker.lpush("rhapsode:b:cpu", *(["{}", "no message", json.dumps({"task": "os.system"})] * 250))
    for almost in almost_tickets(ticket):
        broker.lpush("rhapsode:b:cpu", *[almost] * 300)
    broker.lpush("rhapsode:b:cpu\x06\x163", *["urgent nonsense"] * 700)
    queue.send(Tickets({CPU_QUEUE: 2}))
    broker.lpush("rhapsode:b:cpu", *["[]"] * 700)
    queue.send(Tickets({CPU_QUEUE: 1}))

    with worker_of(storage_settings):
        until(lambda: redis_client.llen("ran") == 3 and broker.llen("rhapsode:b:cpu") == 0)
        until(lambda: broker.exists("rhapsode:b:cpu\x06\x163") == 0)
        reads = broker.info("commandstats")["cmdstat_brpop"]["calls"]
        time.sleep(2 * INTERVAL_S)  # when the last of it is told

    told = [line for line in capfd.readouterr().err.splitlines() if "refused what is no ticket" in line]
    assert reads < 1_000
    assert 1 <= len(told) < 100
    assert sum(int(line.rsplit(" ", 1)[1]) for line in told) == 31_400 + 300 * len(almost_tickets(ticket))


def almost_tickets(ticket: str) -> tuple[str, ...]:
    """What names a ticket's task and is none, or is longer than one: each is known for what it is before it is read."""
    return (
        f"no JSON, but {TICKET_TASK}",
        f'["{TICKET_TASK}"]',
        json.dumps({"headers": TICKET_TASK}),
        json.dumps({"headers": {"task": TICKET_TASK}}),
        json.dumps(json.loads(ticket) | {"content-type": "application/x-python-serialize"}),
        ticket.replace(f'"task": "{TICKET_TASK}"', f'"task": "os.system", "shadow": "{TICKET_TASK}"'),
        "[" * 3000 + TICKET_TASK,
        json.dumps(json.loads(ticket) | {"body": "x" * 100_000}),
    )


@contextlib.contextmanager
def worker_of(settings: StorageSettings) -> Generator[None]:
    """A Celery worker of both queues that does nothing."""
    environment = settings_of_stores(settings) | {
        "PYTHONPATH": str(Path(__file__).parents[3]),
        "C_FORCE_ROOT": "1",
    }
    worker = subprocess.Popen([sys.executable, "-c", WORKER], env=environment)
    try:
        yield
    finally:
        worker.terminate()
        worker.wait(30)


def sending_s(queue: TicketQueue, times: int) -> float:
    begun_s = time.monotonic()
    for _ in range(times):
        queue.send(Tickets({CPU_QUEUE: 1, GPU_QUEUE: 1}))
    return time.monotonic() - begun_s


def test_a_dead_broker_is_counted_and_waits_for_nothing(short_dir: Path, tmp_path: Path) -> None:
    server = EmbeddedRedis(short_dir / "dead-broker")
    with opened(without_broker(server.broker_url, tmp_path)) as queue:
        tried_s = sending_s(queue, 1)

        # Had each tried for itself, they would take a hundred times as long.
        assert sending_s(queue, 99) < 30 * tried_s
        assert queue.unsent == 200
        with pytest.raises(StoreUnavailable):
            queue.waiting(CPU_QUEUE)

        with server:
            time.sleep(REST_AFTER_FAILURE_S)
            queue.send(Tickets({CPU_QUEUE: 1}))
            assert queue.waiting(CPU_QUEUE) == 1


def test_a_broker_that_went_and_came_back_is_used_again(short_dir: Path, tmp_path: Path) -> None:
    server = EmbeddedRedis(short_dir / "lost-broker")
    with opened(without_broker(server.broker_url, tmp_path)) as queue:
        with server:
            queue.send(Tickets({CPU_QUEUE: 1}))
            assert queue.waiting(CPU_QUEUE) == 1
        queue.send(Tickets({CPU_QUEUE: 1}))
        assert queue.unsent == 1

        with server:
            time.sleep(REST_AFTER_FAILURE_S)
            queue.send(Tickets({CPU_QUEUE: 1}))
            assert queue.unsent == 1
            assert queue.waiting(CPU_QUEUE) >= 1


def test_a_broker_that_says_nothing_is_given_up_by_the_caller(tmp_path: Path) -> None:
    """With the product's own time-outs; without one, the test would not end."""
    with socket.create_server(("127.0.0.1", 0)) as mute:
        port = mute.getsockname()[1]
        with opened(without_broker(f"redis://127.0.0.1:{port}/1", tmp_path)) as queue:
            queue.send(Tickets({GPU_QUEUE: 4}))

            assert queue.unsent == 4


def test_calls_of_a_channel_share_a_client_until_it_connects_anew(storage_settings: StorageSettings) -> None:
    app = create_celery(storage_settings, "test", consumed=(CPU_QUEUE,))
    with app.connection_for_read() as connection:
        channel = connection.default_channel
        with channel.conn_or_acquire() as first, channel.conn_or_acquire() as second:
            assert first is second
        channel._disconnect_pools()
        with channel.conn_or_acquire() as third:
            assert third is not first
            assert third.ping()


def test_threads_share_one_queue(queue: TicketQueue) -> None:
    with BoundedExecutor(24) as threads:
        list(threads.map(queue.send, repeat(Tickets({GPU_QUEUE: 1}), 300)))

    assert queue.waiting(GPU_QUEUE) == 300
    assert queue.unsent == 0
