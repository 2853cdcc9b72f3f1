"""A served API on an empty system, for benchmarks that speak HTTP: real uvicorn, Valkey with its log, folder store."""

from __future__ import annotations

import http.client
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import redis
from pydantic import SecretStr

from benchmarks.process_figures import cpu_s
from storage.database.embedded_valkey import EmbeddedRedis
from storage.ids import TenantId
from storage.queue.model_registry import ModelCard, ModelRegistry
from storage.runtime.config.settings import StorageSettings
from storage.tenants.api_keys import TENANT_SCOPES, ApiKeyStore

START_TIMEOUT_S = 60.0
STARTED = "Application startup complete"
"""What every process logs when it begins to serve."""

ROOT = Path(__file__).resolve().parents[2]

CARD = ModelCard("small", "r1", "custom_voice", ("Alice",), ("English",), "English", 24_000, 1920, 16, 1024)


@dataclass(frozen=True)
class ServedApi:
    """`state` is a client of the system's Redis, `settings` are what another process of the system needs."""

    port: int
    pids: tuple[int, ...]
    state: redis.Redis
    settings: StorageSettings
    key: str
    """An API key of the tenant `bench`, as operators make them."""

    @property
    def pid(self) -> int:
        """Of the one process, if there is only one."""
        (pid,) = self.pids
        return pid

    def cpu_s(self) -> float:
        """CPU seconds of the API's processes so far (Linux)."""
        return sum(cpu_s(pid) for pid in self.pids)


@contextmanager
def served_api(
    folder: Path,
    processes: int = 1,
    store_folder: Path | None = None,
    module: Sequence[str] = ("api.server",),
    **more: str,
) -> Generator[ServedApi]:
    """A served API on an empty system; several processes share one listening socket.

    store_folder: of the object store, if that is not to lie in `folder`. module: what runs it, with its arguments.
    more: settings of the API.
    """
    with (
        socket.create_server(("127.0.0.1", 0), backlog=1024) as listener,
        EmbeddedRedis(folder / "valkey") as server,
        redis.Redis.from_url(server.url, decode_responses=True) as client,
    ):
        ModelRegistry(client).publish(CARD)
        secret, store = secrets.token_hex(16), f"file://{store_folder or folder}/store"
        settings = StorageSettings(
            redis_url=SecretStr(server.url),
            broker_url=SecretStr(server.broker_url),
            store=store,
            url_secret=SecretStr(secret),
        )
        environment = os.environ | {
            "RHAPSODE_REDIS_URL": server.url,
            "RHAPSODE_BROKER_URL": server.broker_url,
            "RHAPSODE_STORE": store,
            "RHAPSODE_URL_SECRET": secret,
            # Counted as ever, and never one too many.
            "RHAPSODE_RATE_LIMIT": "10000000/minute",
            **more,
        }
        key = ApiKeyStore(client).create(TenantId("bench"), "benchmark", TENANT_SCOPES).secret
        port = listener.getsockname()[1]
        with (folder / "api.log").open("wb") as log, ExitStack() as running:
            started = [_start(running, module, listener.fileno(), environment, log) for _ in range(processes)]
            _wait_ready(port, started, folder / "api.log")
            yield ServedApi(port, tuple(process.pid for process in started), client, settings, key)


def _start(
    running: ExitStack, module: Sequence[str], listener: int, environment: dict[str, str], log: IO[bytes]
) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", *module, "--fd", str(listener)]
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=log, stdout=log, pass_fds=(listener,))
    running.callback(process.wait, 20)
    running.callback(process.terminate)
    return process


def _wait_ready(port: int, processes: list[subprocess.Popen[bytes]], log: Path) -> None:
    """Until each has said so in its log, and one of them has answered: the socket takes connections before that."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline and all(process.poll() is None for process in processes):
        if log.read_text().count(STARTED) >= len(processes) and _is_ready(port):
            return
        time.sleep(0.05)
    sys.exit(f"the API did not start: {log.read_text()}")


def _is_ready(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=START_TIMEOUT_S)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    finally:
        connection.close()
