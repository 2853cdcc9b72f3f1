"""What benchmarks share: a stack or an API alone to ask, and what its processes have used so far."""

from __future__ import annotations

import argparse
import os
import secrets
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil
import redis

from rhapsode.contract.jobs.narration import Narration
from rhapsode.contract.jobs.states import Priority
from rhapsode.stack.layout import DataDir
from rhapsode.stack.options import StackOptions
from rhapsode.stack.stack import Stack
from storage.database.embedded_valkey import EmbeddedRedis
from storage.ids import TenantId, new_job_id
from storage.jobs.submissions import Submission
from storage.narration.spec import NarrationSpec
from storage.queue.model_registry import ModelCard, ModelRegistry
from storage.runtime.config.settings import StorageSettings
from storage.tenants.api_keys import TENANT_SCOPES, ApiKeyStore
from tests.environment import without_settings

ROOT = Path(__file__).resolve().parents[1]
SMALL_VOICE = ROOT / "worker/small_voice"
FABLES = ROOT / "rhapsode/demo/fables.txt"
FRAME_S = 0.08
START_S = 60.0
CARD = ModelCard("small", "r1", "custom_voice", ("Alice",), ("English",), "English", 24_000, 1920, 16, 1024)

PROCESSES = {
    "engine_host": "worker.engine.process.host",
    "postprocessors": "worker.speech.postprocessing.process",
    "gpu_worker": "gpu@%h",
    "fronts": "worker.lifecycle.fronts.process",
    "cpu_worker": "cpu@%h",
    "janitor": "worker.janitor",
    "api": "api.server",
}
"""A word of the command line that identifies each kind; a Valkey is identified by its program."""


def parser(doc: str | None) -> argparse.ArgumentParser:
    return argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def fake_engine(step_s: float) -> dict[str, str]:
    """The settings of a system with the engine without a model, which makes a frame in so many seconds."""
    speed = {"RHAPSODE_ENGINE": "fake", "RHAPSODE_FAKE_STEP_S": str(step_s)}
    return without_settings(os.environ) | speed | {"RHAPSODE_RATE_LIMIT": "100000000/minute"}


@contextmanager
def running_stack(options: StackOptions, environment: dict[str, str]) -> Generator[Stack]:
    with Stack(options, environment, lambda _: None) as stack:
        stack.wait_ready()
        yield stack


def kind_of(process: psutil.Process) -> str:
    words = process.cmdline()
    kind = next((kind for kind, word in PROCESSES.items() if word in words), None)
    return kind or ("valkey" if words and "valkey" in words[0] else "others")


def cpu_taken_ms() -> Counter[str]:
    """By the processes below this one so far, by kind, and by all of them together."""
    taken = Counter[str]()
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            taken[kind_of(process)] += round(1000 * cpu_s(process.pid))
    taken["all"] = taken.total()
    return taken


def cpu_s(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    return times.user + times.system


def calls_and_commands(client: redis.Redis) -> tuple[int, int]:
    """Calls of functions, and all commands with those inside functions, since the server began."""
    rows: dict[str, dict[str, int]] = client.info("commandstats")
    return rows.get("cmdstat_fcall", {"calls": 0})["calls"], sum(row["calls"] for row in rows.values())


@contextmanager
def valkey_of(folder: Path) -> Generator[redis.Redis]:
    """A client of the Valkey of a stack."""
    with redis.Redis.from_url(EmbeddedRedis(DataDir(folder).valkey).url, decode_responses=True) as client:
        yield client


def submission(tenant: TenantId) -> Submission:
    """A job of four seconds of audio."""
    spec = NarrationSpec(Narration(model="small", voice="alice"))
    return Submission(new_job_id(), tenant, spec, Priority.NORMAL, "input", 66, 4_000, 3_600)


def settings_of(server: EmbeddedRedis, store: str) -> StorageSettings:
    urls = {"redis_url": server.url, "broker_url": server.broker_url}
    return StorageSettings.model_validate({**urls, "store": store, "url_secret": secrets.token_hex(16)})


def as_environment(settings: StorageSettings) -> dict[str, str]:
    return {
        "RHAPSODE_REDIS_URL": settings.redis_url.get_secret_value(),
        "RHAPSODE_BROKER_URL": settings.broker_url.get_secret_value(),
        "RHAPSODE_STORE": settings.store,
        "RHAPSODE_URL_SECRET": settings.url_secret.get_secret_value(),
    }


@dataclass(frozen=True)
class ServedApi:
    """`state` is a client of the system's Redis, `settings` are what a worker of the system needs. key: of a tenant."""

    url: str
    pids: tuple[int, ...]
    state: redis.Redis
    settings: StorageSettings
    key: str


@contextmanager
def served_api(folder: Path, processes: int) -> Generator[ServedApi]:
    """An API on an empty system: uvicorn, Valkey with its log, folder store. Its processes share a listening socket."""
    log = folder / "api.log"
    with (
        socket.create_server(("127.0.0.1", 0), backlog=1024) as listener,
        EmbeddedRedis(folder / "valkey") as server,
        redis.Redis.from_url(server.url, decode_responses=True) as client,
        log.open("wb") as output,
        ExitStack() as running,
    ):
        ModelRegistry(client).publish(CARD)
        settings = settings_of(server, f"file://{folder}/store")
        key = ApiKeyStore(client).create(TenantId("bench"), "benchmark", TENANT_SCOPES).secret
        environment = os.environ | as_environment(settings) | {"RHAPSODE_RATE_LIMIT": "10000000/minute"}
        command = [sys.executable, "-m", "api.server", "--fd", str(listener.fileno())]
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        started: list[subprocess.Popen[bytes]] = []
        for _ in range(processes):
            process = subprocess.Popen(
                command, cwd=ROOT, env=environment, stderr=output, stdout=output, pass_fds=(listener.fileno(),)
            )
            running.callback(process.wait, 20)
            running.callback(process.terminate)
            started.append(process)
        _await_ready(url, started, log)
        yield ServedApi(url, tuple(process.pid for process in started), client, settings, key)


def _await_ready(url: str, processes: list[subprocess.Popen[bytes]], log: Path) -> None:
    """Until each has said so in its log, and one of them has answered: the socket takes connections before that."""
    give_up_s = time.monotonic() + START_S
    while time.monotonic() < give_up_s and all(process.poll() is None for process in processes):
        if log.read_text().count("Application startup complete") >= len(processes):
            httpx.get(f"{url}/readyz", timeout=START_S).raise_for_status()
            return
        time.sleep(0.05)
    sys.exit(f"the API did not start: {log.read_text()}")
