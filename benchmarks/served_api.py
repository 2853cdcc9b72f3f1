"""A served API on an empty system, for benchmarks that speak HTTP: real uvicorn, Valkey with its log, folder store."""

from __future__ import annotations

import http.client
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import redis
from pydantic import SecretStr

from storage.embedded_redis import EmbeddedRedis
from storage.models import ModelCard, ModelRegistry
from storage.settings import StorageSettings

ROOT = Path(__file__).resolve().parent.parent

CARD = ModelCard("small", "r1", "custom_voice", ("Alice",), ("English",), "English", 24_000, 1920, 16, 1024)


@dataclass(frozen=True)
class ServedApi:
    """`state` is a client of the system's Redis, `settings` are what another process of the system needs."""

    port: int
    pid: int
    state: redis.Redis
    settings: StorageSettings

    def cpu_s(self) -> float:
        """CPU seconds of the API's process so far (Linux)."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def served_api(folder: Path) -> Generator[ServedApi]:
    """A served API on an empty system."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with EmbeddedRedis(folder / "valkey") as server, redis.Redis.from_url(server.url, decode_responses=True) as client:
        ModelRegistry(client).publish(CARD)
        secret, store = secrets.token_hex(16), f"file://{folder}/store"
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
        }
        command = [sys.executable, "-m", "api.server", "--port", str(port)]
        with (folder / "api.log").open("wb") as log:
            process = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=log, stdout=log)
            try:
                _wait_ready(port, process, folder / "api.log")
                yield ServedApi(port, process.pid, client, settings)
            finally:
                process.terminate()
                process.wait(20)


def _wait_ready(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and process.poll() is None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", "/readyz")
            if connection.getresponse().status == 200:
                return
        except ConnectionRefusedError:
            time.sleep(0.05)
        finally:
            connection.close()
    sys.exit(f"the API did not start: {log.read_text()}")
