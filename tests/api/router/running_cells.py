"""Four cells on one machine, each with a Valkey and an API process of its own, and a router in front of them."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import redis

from api.router.cells import parse_cells
from api.router.placement import Placement
from storage.database.embedded_valkey import EmbeddedRedis
from storage.ids import TenantId, UploadId, cell_of
from storage.objects import keys
from storage.objects.local_store import LocalArtifactStore
from storage.objects.store import Download
from storage.queue.model_registry import ModelRegistry
from tests.api.harness import SMALL
from tests.environment import without_settings
from tests.operations.ports import free_ports
from tests.process_tree import terminate

NAMES = ("a", "b", "c", "d")
TENANTS = tuple(f"tenant-{number}" for number in range(12))
SPREAD = "spread"
START_S = 240


def key_of(tenant: str) -> str:
    return f"rhk-{tenant}"


KEYS = {hashlib.sha256(key_of(tenant).encode()).hexdigest(): tenant for tenant in (*TENANTS, SPREAD, "operator")}


def as_tenant(tenant: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key_of(tenant)}"}


@dataclass
class RunningCell:
    name: str
    url: str
    valkey: EmbeddedRedis
    settings: Mapping[str, str]
    port: int
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.valkey.start()
        with redis.Redis.from_url(self.valkey.url, decode_responses=True) as client:
            ModelRegistry(client, "rhapsode").publish(SMALL)
        self.process = _spawn("api.server", self.port, self.settings)
        wait_ready(self.url, self.process)

    def kill(self) -> None:
        """kill -9 of the API and of its Valkey."""
        assert self.process is not None
        pid = self.valkey.pid
        assert pid is not None
        self.process.kill()
        self.process.wait()
        os.kill(pid, signal.SIGKILL)
        self.valkey.stop()

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            terminate(self.process)
        self.valkey.stop()


@dataclass
class RunningCells:
    url: str
    cells: dict[str, RunningCell]
    http: httpx.Client
    folder: Path
    tenant_cells: dict[str, Any] = field(default_factory=dict[str, Any])

    def placement(self) -> Placement:
        return Placement(parse_cells(addresses(self.cells.values())), self.tenant_cells)

    def tenant_at(self, cell: str) -> str:
        return next(tenant for tenant in TENANTS if self.placement().homes(tenant)[0].name == cell)

    def signed(self, upload: str, tenant: str) -> str:
        """A link to a file in the folder of its cell, as answers give out for what was made."""
        cell = self.cells[cell_of(upload) or ""]
        store = LocalArtifactStore(self.folder / f"store-{cell.name}", cell.settings["RHAPSODE_URL_SECRET"].encode())
        key = keys.upload(TenantId(tenant), UploadId(upload))
        return store.url(key, 60, Download("part.bin", "application/octet-stream"))

    def submit(self, tenant: str, text: str = "Good morning.", **headers: str) -> httpx.Response:
        return self.http.post("/v1/jobs", json={"input": {"text": text}}, headers=as_tenant(tenant) | headers)


def addresses(cells: Any, **options: str) -> str:
    return ",".join(f"{cell.name}={cell.url}{options.get(cell.name, '')}" for cell in cells)


@contextmanager
def running_cells(folder: Path) -> Generator[RunningCells]:
    with ExitStack() as stack:
        ports = free_ports(len(NAMES) + 1)
        cells = {name: _cell(name, folder, port) for name, port in zip(NAMES, ports, strict=False)}
        for cell in cells.values():
            stack.callback(cell.stop)
            cell.start()
        choices = {SPREAD: len(NAMES)}
        with running_router(addresses(cells.values()), choices, ports[-1]) as url, client_of(url) as http:
            yield RunningCells(url, cells, http, folder, choices)


@contextmanager
def running_router(
    cells: str, choices: Mapping[str, Any], port: int | None = None, more: Mapping[str, str] | None = None
) -> Generator[str]:
    port = port or free_ports(1)[0]
    settings = {
        "RHAPSODE_CELLS": cells,
        "RHAPSODE_API_KEYS": json.dumps(KEYS),
        "RHAPSODE_TENANT_CELLS": json.dumps(choices),
        **(more or {}),
    }
    process = _spawn("api.router.server", port, settings)
    url = f"http://127.0.0.1:{port}"
    try:
        wait_ready(url, process)
        yield url
    finally:
        terminate(process)


def client_of(url: str) -> httpx.Client:
    return httpx.Client(base_url=url, timeout=30)


def wait_ready(url: str, process: subprocess.Popen[bytes]) -> None:
    give_up_s = time.monotonic() + START_S
    while True:
        assert process.poll() is None, "a server ended"
        assert time.monotonic() < give_up_s, "a server is not ready"
        try:
            if httpx.get(f"{url}/readyz", timeout=5).status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.05)


def _cell(name: str, folder: Path, port: int) -> RunningCell:
    valkey = EmbeddedRedis(folder / name)
    settings = {
        "RHAPSODE_CELL": name,
        "RHAPSODE_REDIS_URL": valkey.url,
        "RHAPSODE_BROKER_URL": valkey.broker_url,
        "RHAPSODE_STORE": f"file://{folder}/store-{name}",
        "RHAPSODE_URL_SECRET": "a-secret-for-tests-only",
        "RHAPSODE_WEBHOOK_KEY": "a-sealing-key-for-tests-only",
        "RHAPSODE_API_KEYS": json.dumps(KEYS),
    }
    return RunningCell(name, f"http://127.0.0.1:{port}", valkey, settings, port)


def _spawn(module: str, port: int, settings: Mapping[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", module, "--port", str(port)],
        env=without_settings(os.environ) | {"RHAPSODE_LOG_LEVEL": "warning", **settings},
    )
