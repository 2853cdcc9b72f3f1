"""Clients of a running server, many in each of a few processes: submit a text, wait for its job, fetch the WAV.

Each speaks HTTP/1.1 over one kept socket with nothing between: a richer client with hundreds of connections would be
what is measured.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import time
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import repeat
from multiprocessing import get_context
from typing import Any
from urllib.parse import urlsplit

WAV_HEAD_BYTES, WAV_BYTES_PER_S = 44, 48_000
WAIT = "Prefer: wait=60"
MOST_START_S = 120.0
"""Of the slowest process: all of them begin together."""

SPREAD_S = 0.5
"""Within which the clients begin, and how long one that was refused holds still."""


@dataclass(frozen=True, slots=True)
class Order:
    """What every client asks for. text: with a place for a number. cores: of the client processes; none: any."""

    url: str
    voice: str
    text: str
    fields: dict[str, object]
    seconds: float
    cores: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Fetched:
    """took_s: from the submit to the last byte of the WAV. ended_s: on the monotonic clock of the machine."""

    took_s: float
    audio_s: float
    ended_s: float


@dataclass(slots=True)
class Told:
    """Of one process, or of all. dropped: by why. cores: that the busiest process took."""

    began_s: float
    fetched: list[Fetched] = field(default_factory=list[Fetched])
    dropped: Counter[str] = field(default_factory=Counter[str])
    cores: float = 0.0


class Dropped(Exception):
    """The message says what came instead of speech."""


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    fields: dict[str, str]
    body: bytes


class Connection:
    """One at a time; opened again where the server closed it."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "", parts.port or 80
        self._socket: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, method: str, path: str, *fields: str, body: bytes = b"") -> Answer:
        if self._socket is None:
            self._socket = await asyncio.open_connection(self._host, self._port, limit=1 << 20)
        reader, writer = self._socket
        lines = (f"{method} {path} HTTP/1.1", f"Host: {self._host}:{self._port}", *fields)
        writer.write("\r\n".join((*lines, f"Content-Length: {len(body)}", "", "")).encode() + body)
        answer = await _read_answer(reader)
        if answer.fields.get("connection") == "close":
            self.close()
        return answer

    def close(self) -> None:
        if self._socket is not None:
            self._socket[1].close()
        self._socket = None


async def _read_answer(reader: asyncio.StreamReader) -> Answer:
    status, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
    if fields.get("transfer-encoding") == "chunked":
        body = b"".join([chunk async for chunk in _chunks(reader)])
    else:
        body = await reader.readexactly(int(fields.get("content-length", "0")))
    return Answer(int(status.split()[1]), fields, body)


async def _chunks(reader: asyncio.StreamReader) -> AsyncGenerator[bytes]:
    while size := int(await reader.readline(), 16):
        yield (await reader.readexactly(size + 2))[:-2]
    await reader.readline()


def drive(order: Order, clients: int, processes: int) -> Told:
    """So many clients together, until the time is over and each has what it asked for last."""
    shares = [clients // processes + (number < clients % processes) for number in range(processes)]
    context = get_context("spawn")
    are_there = context.Barrier(processes)
    with ProcessPoolExecutor(processes, context, are_there.wait, (MOST_START_S,)) as pool:
        parts = list(pool.map(_drive_share, repeat(order), shares))
    whole = Told(min(part.began_s for part in parts))
    for part in parts:
        whole.fetched += part.fetched
        whole.dropped += part.dropped
        whole.cores = max(whole.cores, part.cores)
    return whole


def _drive_share(order: Order, clients: int) -> Told:
    if order.cores:
        os.sched_setaffinity(0, order.cores)
    told, used_s = Told(time.monotonic()), time.process_time()
    asyncio.run(_drive_all(order, clients, told))
    told.cores = round((time.process_time() - used_s) / (time.monotonic() - told.began_s), 2)
    return told


async def _drive_all(order: Order, clients: int, told: Told) -> None:
    await asyncio.gather(*(_client(order, told) for _ in range(clients)))


async def _client(order: Order, told: Told) -> None:
    connection = Connection(order.url)
    await asyncio.sleep(SPREAD_S * random.random())
    while time.monotonic() < told.began_s + order.seconds:
        try:
            told.fetched.append(await _speak(connection, order))
        except Dropped as why:
            told.dropped[str(why)] += 1
            await asyncio.sleep(SPREAD_S)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
            connection.close()
            told.dropped[type(error).__name__] += 1
            await asyncio.sleep(SPREAD_S)
    connection.close()


async def _speak(connection: Connection, order: Order) -> Fetched:
    began_s, number = time.monotonic(), random.getrandbits(40)
    request = {"input": {"text": order.text.format(number=number)}, "voice": order.voice, "seed": number}
    body = json.dumps(request | order.fields).encode()
    json_body = ("Content-Type: application/json", WAIT)
    job = _job(await connection.ask("POST", "/v1/jobs", *json_body, body=body))
    while not job.get("finished_at"):
        job = _job(await connection.ask("GET", f"/v1/jobs/{job['id']}", WAIT))
    if job["state"] != "succeeded":
        raise Dropped(job["state"])
    answer = await connection.ask("GET", f"/v1/jobs/{job['id']}/artifacts/narration.wav")
    if answer.status in (302, 307):
        place = urlsplit(answer.fields["location"])
        answer = await connection.ask("GET", f"{place.path}?{place.query}")
    if answer.status != 200:
        raise Dropped(f"{answer.status} for the WAV")
    ended_s = time.monotonic()
    return Fetched(ended_s - began_s, (len(answer.body) - WAV_HEAD_BYTES) / WAV_BYTES_PER_S, ended_s)


def _job(answer: Answer) -> dict[str, Any]:
    if answer.status not in (200, 202):
        raise Dropped(str(answer.status))
    return json.loads(answer.body)


def share(values: Sequence[float], of: float) -> float:
    """The value that this share of them does not exceed; 0 where there are none."""
    return sorted(values)[min(len(values) - 1, int(of * len(values)))] if values else 0.0
