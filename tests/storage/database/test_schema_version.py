from __future__ import annotations

import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager

import pytest
import redis

from storage.database.keys import RedisKeys
from storage.database.layout import LAYOUT
from storage.database.schema_version import StateUnusable, agree_on_layout
from tests.threads import join_in_time


def test_every_process_of_a_version_agrees(redis_client: redis.Redis) -> None:
    agree_on_layout(redis_client, "rhapsode")
    agree_on_layout(redis_client, "rhapsode")

    assert redis_client.get(RedisKeys("rhapsode").single("layout")) == str(LAYOUT)


def test_state_of_another_layout_is_left_alone(redis_client: redis.Redis) -> None:
    redis_client.set(RedisKeys("rhapsode").single("layout"), "7")

    with pytest.raises(StateUnusable, match="holds jobs in layout 7, and this version has layout"):
        agree_on_layout(redis_client, "rhapsode")

    assert redis_client.get(RedisKeys("rhapsode").single("layout")) == "7"
    agree_on_layout(redis_client, "another")


@pytest.mark.parametrize(
    ("answer", "version"),
    [
        (b"*4\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$5\r\n6.2.6\r\n", "6.2.6"),
        (b"-ERR unknown command `HELLO`, with args beginning with: \r\n", "5 or older"),
    ],
)
def test_a_server_without_functions_is_refused_in_one_line(answer: bytes, version: str) -> None:
    with (
        old_server(answer) as port,
        redis.Redis(port=port, protocol=2, decode_responses=True, driver_info=None) as client,
        pytest.raises(StateUnusable, match=f"the server is Redis {version}: Rhapsode needs Redis 7 or Valkey 7.2"),
    ):
        agree_on_layout(client, "rhapsode")


@contextmanager
def old_server(answer: bytes) -> Generator[int]:
    """Says the same to whatever it is asked; the port."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                while connection.recv(4096):
                    connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield listening.getsockname()[1]
    join_in_time(thread)
