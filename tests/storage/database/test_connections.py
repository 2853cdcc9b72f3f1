from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
from contextlib import suppress
from pathlib import Path

import pytest
import redis
from pydantic import SecretStr

from storage.database.connections import connect_redis, connect_redis_async
from storage.database.embedded_valkey import EmbeddedRedis
from storage.errors import StoreUnavailable
from storage.runtime.config.settings import StorageSettings
from tests.threads import BoundedExecutor


def settings_for(redis_url: str) -> StorageSettings:
    return StorageSettings(redis_url=SecretStr(redis_url), store="s3://bucket")


def test_text_goes_in_and_out_both_ways(storage_settings: StorageSettings) -> None:
    async def read() -> bytes | str | None:
        async with connect_redis_async(storage_settings) as client:
            return await client.get("name")

    with connect_redis(storage_settings) as client:
        client.set("name", "Ὅμηρος")

        assert client.get("name") == "Ὅμηρος"
    assert asyncio.run(read()) == "Ὅμηρος"


def test_a_client_survives_a_server_that_was_killed_and_came_back(short_dir: Path) -> None:
    server = EmbeddedRedis(short_dir / "reborn")
    server.start()
    with connect_redis(settings_for(server.url)) as client:
        client.set("k", "v")
        assert server.pid is not None
        os.kill(server.pid, signal.SIGKILL)
        server.stop()
        server.start()

        assert client.get("k") == "v"
    server.stop()


@pytest.mark.parametrize("url", ["unix:///nowhere/v.sock?db=0", "redis://127.0.0.1:1/0"])
def test_a_dead_server_is_reported_within_a_second(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing takes time there but the pauses between the tries."""
    pauses_s: list[float] = []
    monkeypatch.setattr("redis.retry.sleep", pauses_s.append)

    with connect_redis(settings_for(url)) as client, pytest.raises(StoreUnavailable, match="does not answer"):
        client.get("k")

    assert pauses_s
    assert sum(pauses_s) < 1


def test_a_server_that_says_nothing_is_given_up_after_one_time_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("storage.database.connections.SOCKET_TIMEOUT_S", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as mute:
        url = f"redis://127.0.0.1:{mute.getsockname()[1]}/0"

        with connect_redis(settings_for(url)) as client, pytest.raises(StoreUnavailable, match="imeout"):
            client.get("k")

        assert waiting_connections(mute) == 1


def waiting_connections(server: socket.socket) -> int:
    """Those that came and that nobody has accepted."""
    server.setblocking(False)
    number = 0
    with suppress(BlockingIOError):
        while True:
            server.accept()[0].close()
            number += 1
    return number


def test_a_process_may_have_more_threads_than_the_library_has_connections(storage_settings: StorageSettings) -> None:
    def hold(client: redis.Redis, everybody: threading.Barrier) -> bool:
        connection = client.connection_pool.get_connection()
        everybody.wait(20)
        client.connection_pool.release(connection)
        return True

    everybody = threading.Barrier(300)
    with connect_redis(storage_settings) as client, BoundedExecutor(300) as threads:
        held = [threads.submit(hold, client, everybody) for _ in range(300)]
        assert all(each.result(30) for each in held)
