"""Real servers for every test: Valkey under our own supervisor, and an S3 server. Nothing here is a stand-in."""

from __future__ import annotations

import gc
import inspect
import os
import shutil
import tempfile
import time
import uuid
from collections.abc import Generator, Iterator
from functools import partialmethod
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
import redis
from pydantic import SecretStr

from storage.database.connections import connect_redis
from storage.database.embedded_valkey import EmbeddedRedis
from storage.objects.local_store import LocalArtifactStore
from storage.objects.s3_client import connect_s3
from storage.objects.s3_store import S3ArtifactStore
from storage.objects.store import ArtifactStore
from storage.runtime.config.settings import StorageSettings
from tests.command_line import CommandLine, loaded_command_line
from tests.loaded_programs import LoadedPrograms, use
from tests.property_tests import load_profile
from tests.run_guard import guarded_run
from tests.run_order import arranged
from tests.storage.objects.embedded_s3 import BUCKET, EmbeddedS3, store_at
from worker.engine.serving.rounding import round_rows_alike

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

# A test that multiplies before the engine's would otherwise decide how the engine's round.
round_rows_alike()

# A busy machine may take longer over an answer than the five seconds that httpx waits by default.
inspect.signature(httpx.get).parameters["timeout"].default.read = 60

URL_SECRET = "a-secret-for-tests-only"

load_profile()
use(LoadedPrograms())


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """When all that is not wanted is out."""
    num_processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if num_processes > 1:
        items[:] = arranged(items, num_processes)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is imported and collected stays until the end: to look for garbage in it takes a third of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session", autouse=True)
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of the run, whose guard ends every process that is left when pytest is done or dead."""
    with guarded_run(tmp_path_factory.getbasetemp()) as folder:
        yield folder


@pytest.fixture(scope="session")
def short_dir(run_dir: Path) -> Path:
    """A session's folder whose path leaves room for a Unix socket, which pytest's own does not."""
    folder = run_dir / "session"
    folder.mkdir()
    return folder


@pytest.fixture(scope="session")
def command_line(run_dir: Path) -> Iterator[CommandLine]:
    """Asks for the run's folder, whose guard ends what a run of the command leaves."""
    with loaded_command_line() as command_line:
        yield command_line


@pytest.fixture
def within_one_day() -> None:
    """What is counted by the day is not counted while one ends, by UTC."""
    left_s = 86_400 - time.time() % 86_400
    if left_s < 60:
        time.sleep(left_s)


@pytest.fixture
def data_dir(run_dir: Path) -> Iterator[Path]:
    """A data folder of the test's own with a short path. A fixture whose processes write there asks for this one,
    so that they are ended before it goes."""
    folder = Path(tempfile.mkdtemp(dir=run_dir))
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
        redis_url=SecretStr(valkey.url),
        broker_url=SecretStr(valkey.broker_url),
        store=f"file://{tmp_path}/store",
        url_secret=SecretStr(URL_SECRET),
    )


@pytest.fixture
def redis_client(storage_settings: StorageSettings) -> Iterator[redis.Redis]:
    """A client of the state database as the processes get it."""
    with connect_redis(storage_settings) as client:
        yield client


@pytest.fixture
def full_store(monkeypatch: pytest.MonkeyPatch) -> None:
    """Folder stores want more free space than a disk has: they accept nothing."""
    wants = partialmethod(LocalArtifactStore.__init__, min_free_bytes=10**12 * 1024 * 1024)
    monkeypatch.setattr(LocalArtifactStore, "__init__", wants)


@pytest.fixture(scope="session")
def weed(short_dir: Path) -> Iterator[EmbeddedS3]:
    """One S3 server for the session. A test that kills a server starts its own `EmbeddedS3`."""
    with EmbeddedS3(short_dir / "weed") as server:
        yield server


@pytest.fixture
def local_store(tmp_path: Path) -> LocalArtifactStore:
    return LocalArtifactStore(tmp_path / "store", URL_SECRET.encode(), min_free_bytes=0)


@pytest.fixture(scope="session")
def s3_client(weed: EmbeddedS3) -> Iterator[S3Client]:
    client = connect_s3(weed.endpoint_url, None, *weed.credentials)
    yield client
    client.close()


@pytest.fixture
def s3_store(s3_client: S3Client, weed: EmbeddedS3) -> S3ArtifactStore:
    """The session's S3 server under a prefix that is the test's own."""
    return store_at(s3_client, f"test/{uuid.uuid4().hex}", weed.credentials)


@pytest.fixture
def s3_store_of_boto3(s3_client: S3Client) -> S3ArtifactStore:
    """As `s3_store`, where boto3 makes all calls: so it is with a client certificate."""
    return S3ArtifactStore(s3_client, None, BUCKET, f"test/{uuid.uuid4().hex}")


@pytest.fixture(params=["local_store", "s3_store", "s3_store_of_boto3"])
def artifact_store(request: pytest.FixtureRequest) -> ArtifactStore:
    """All stores in turn; a test that needs one of them asks for it by name."""
    store: ArtifactStore = request.getfixturevalue(request.param)
    return store
