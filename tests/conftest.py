"""Real servers for every test: Valkey under our own supervisor, and an S3 server. Nothing here is a stand-in."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from storage.connections import connect_redis
from storage.embedded_redis import EmbeddedRedis
from storage.settings import StorageSettings

URL_SECRET = "a-secret-for-tests-only"


@pytest.fixture(scope="session")
def short_dir() -> Iterator[Path]:
    """A session's folder whose path leaves room for a Unix socket, which pytest's own does not."""
    folder = Path(tempfile.mkdtemp(prefix="rh-", dir="/tmp"))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def valkey_server(short_dir: Path) -> Iterator[EmbeddedRedis]:
    """One server for the session. A test that kills a server starts its own `EmbeddedRedis`."""
    with EmbeddedRedis(short_dir / "valkey") as server:
        yield server


@pytest.fixture
def valkey(valkey_server: EmbeddedRedis) -> Iterator[EmbeddedRedis]:
    """The session's server, emptied (state and broker) before and after the test."""
    with redis.Redis.from_url(valkey_server.url) as client:
        client.flushall()
        yield valkey_server
        client.flushall()


@pytest.fixture
def storage_settings(valkey: EmbeddedRedis, tmp_path: Path) -> StorageSettings:
    """Settings of a whole system on the test's Valkey and a folder store of its own."""
    return StorageSettings(
        redis_url=valkey.url, broker_url=valkey.broker_url, store=f"file://{tmp_path}/store", url_secret=URL_SECRET
    )


@pytest.fixture
def redis_client(storage_settings: StorageSettings) -> Iterator[redis.Redis]:
    """A client of the state database as the processes get it."""
    with connect_redis(storage_settings) as client:
        yield client
