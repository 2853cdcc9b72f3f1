"""What benchmarks of live speech share: workers on the engine without a model or a real one, and listeners who hear as
fast as speech goes."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from benchmarks.api.served_api import ROOT, ServedApi
from rhapsode.stack import commands
from storage.queue.model_registry import ModelRegistry
from storage.queue.worker_registry import WorkerRegistry
from tests.environment import without_settings

BUFFER_S = 0.5
SAMPLE_RATE_HZ = 24_000
START_S = 600.0
SENTENCES = (
    "The harbour was quiet, and nobody had lit the lamps along the wall.",
    "A boat came in with its sail half down, as if it had been told to wait.",
    "What the fishermen said to each other could not be heard from the window.",
    "Later there was a light on the water, and then there were two of them.",
    "She closed the book and counted the bells until they had stopped.",
)
TEXTS = tuple(" ".join((*SENTENCES[first:], *SENTENCES[:first])) for first in range(len(SENTENCES)))


def add_engine(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--step-ms", type=float, default=20, help="of the engine without a model: a frame of 80 ms")
    parser.add_argument("--checkpoint", type=Path, help="of a real engine; without one, the engine without a model")
    parser.add_argument("--device", default="cpu")


class Playback:
    """Of one stream by a listener who begins once `BUFFER_S` of it came, or all."""

    def __init__(self) -> None:
        self.gap_s = 0.0
        self.gaps = 0
        self._heard_until_s: float | None = None
        self._waiting_s = 0.0

    def add(self, seconds: float, now_s: float) -> None:
        if self._heard_until_s is None:
            self._waiting_s += seconds
            if self._waiting_s >= BUFFER_S:
                self._heard_until_s = now_s + self._waiting_s
            return
        late_s = now_s - self._heard_until_s
        if late_s > 0:
            self.gap_s = max(self.gap_s, late_s)
            self.gaps += 1
            self._heard_until_s = now_s
        self._heard_until_s += seconds

    def surplus_s(self, now_s: float) -> float:
        """Beyond the buffer."""
        return 0.0 if self._heard_until_s is None else self._heard_until_s - now_s - BUFFER_S


class Worker:
    """A GPU worker as every supervisor starts it."""

    def __init__(self, name: str, environment: dict[str, str], log: Path) -> None:
        self.name = name
        self._environment = environment | {"RHAPSODE_WORKER_NAME": name}
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._log.open("ab") as log:
            command = commands.gpu_worker()
            self._process = subprocess.Popen(command, cwd=ROOT, env=self._environment, stdout=log, stderr=log)

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()


@asynccontextmanager
async def speaking_workers(
    api: ServedApi, folder: Path, names: Sequence[str], arguments: argparse.Namespace
) -> AsyncGenerator[Sequence[Worker]]:
    """Each has a place for every listener. arguments: of `add_engine`, and `listeners`."""
    settings = api.settings
    chosen = {
        "RHAPSODE_REDIS_URL": settings.redis_url.get_secret_value(),
        "RHAPSODE_BROKER_URL": settings.broker_url.get_secret_value(),
        "RHAPSODE_STORE": settings.store,
        "RHAPSODE_URL_SECRET": settings.url_secret.get_secret_value(),
        "RHAPSODE_LANE": "gpu",
        "RHAPSODE_SLOTS": "1",
        "RHAPSODE_LIVE_SLOTS": str(arguments.listeners),
        "RHAPSODE_LIVE_HOST": "127.0.0.1",
        "RHAPSODE_DEVICE": arguments.device,
        "RHAPSODE_FAKE_STEP_S": str(arguments.step_ms / 1000),
    }
    engine = {"RHAPSODE_ENGINE": "fake"}
    if arguments.checkpoint is not None:
        engine = {
            "RHAPSODE_CHECKPOINT": str(arguments.checkpoint.resolve()),
            "RHAPSODE_ENGINE_PROFILE": "latency",
            "RHAPSODE_ENGINE_REPRODUCIBILITY": "strict",
        }
    environment = without_settings(os.environ) | chosen | engine
    workers = [Worker(name, environment, folder / f"{name}.log") for name in names]
    async with AsyncExitStack() as stack:
        for worker in workers:
            worker.start()
            stack.callback(worker.kill)
        yield workers


async def spoken_names(api: ServedApi) -> tuple[str, str]:
    """A model that workers have announced since, and a voice of it."""
    give_up_s = time.monotonic() + START_S
    while time.monotonic() < give_up_s:
        for card in ModelRegistry(api.state).list():
            if card.name != "small" and card.speakers:
                return card.name, card.speakers[0]
        await asyncio.sleep(0.2)
    sys.exit("no worker has come")


def speech_order(model: str, voice: str, text: str) -> dict[str, object]:
    """A stream of 20 s at most: random weights never end by themselves."""
    fields = {"model": model, "voice": voice, "input": text, "seed": 7, "max_new_tokens": 250}
    return {**fields, "stream": True, "response_format": "pcm"}


async def until_served(api: ServedApi, order: dict[str, object], number: int) -> None:
    """By every worker, and the API has found them."""
    give_up_s = time.monotonic() + START_S
    registry = WorkerRegistry(api.state)
    while sum(each.report.live is not None for each in registry.list()) < number:
        await asyncio.sleep(0.2)
        if time.monotonic() > give_up_s:
            sys.exit("not every worker has come")
    await asyncio.sleep(3)
    if isinstance(broken := await hear(api, order, None), str):
        sys.exit(broken)


def all_speak(api: ServedApi, workers: Sequence[Worker]) -> bool:
    """Each of them as it was started last."""
    live = {each.report.pid for each in WorkerRegistry(api.state).list() if each.report.live is not None}
    return live.issuperset(worker.pid for worker in workers)


async def hear(api: ServedApi, order: dict[str, object], playback: Playback | None) -> bytes | str:
    """To its end, at the pace of the playback if there is one; or why it was not whole."""
    reader, writer = await asyncio.open_connection("127.0.0.1", api.port, limit=4096)
    body = json.dumps(order)
    head = (
        "POST /v1/audio/speech HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {api.key}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    writer.write((head + body).encode())
    try:
        answer = await reader.readuntil(b"\r\n\r\n")
        if not answer.startswith(b"HTTP/1.1 200"):
            return f"refused: {answer.splitlines()[0].decode()}"
        return await _chunks(reader, playback)
    except (asyncio.IncompleteReadError, ConnectionError):
        return "broken off"
    finally:
        writer.close()


async def _chunks(reader: asyncio.StreamReader, playback: Playback | None) -> bytes:
    heard = bytearray()
    while size := int(await reader.readline(), 16):
        piece = (await reader.readexactly(size + 2))[:-2]
        heard += piece
        if playback is not None:
            playback.add(seconds_of(piece), time.monotonic())
            if (surplus_s := playback.surplus_s(time.monotonic())) > 0:
                await asyncio.sleep(surplus_s)
    return bytes(heard)


def seconds_of(pcm: bytes | bytearray) -> float:
    return len(pcm) / 2 / SAMPLE_RATE_HZ
