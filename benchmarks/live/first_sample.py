"""What lies between the engine's first sample and a listener's: over the door alone, and over HTTP, by rate of arrival.

The engine is the fake one, whose first sample takes a step; what it takes alone is printed first and the rest is ours:
HTTP, order, quota in Redis, the worker's thread, the WebSocket and back. API and worker are processes of their own, the
listeners are this one's. With `--steps` so many requests come one after the other, and the way of each is told step by
step, as medians; and how long each waited for its first sample, how long the engine took for it, and the difference,
all by the clock of the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.api.served_api import ROOT, ServedApi, served_api
from benchmarks.live.steps import ENGINE_BEGIN, ENGINE_END, LAST, TIMES, now_ns, read_notes
from rhapsode.bench.statistics import percentile
from tests.run_guard import guarded_run
from worker.engine.fake import FakeEngine
from worker.engine.interface import BuiltInSpeaker, SpeechChunk, SpeechRequest, TextMode, Urgency
from worker.engine.settings import FakeEngineSettings

TEXT = "A sentence of four to six seconds is what everybody is asked for here."
VOICE = "ada"
SAMPLE_RATE_HZ = 24_000
SLOTS = 512


@dataclass(frozen=True)
class Heard:
    """first_s: from the request's first byte to the first of its samples. ran_dry: whether a listener who began then
    would have had to wait for more."""

    first_s: float
    audio_s: float
    ran_dry: bool


def main() -> None:
    arguments = _parser().parse_args()
    alone_s = _engine_alone(arguments.step_ms / 1000)
    print(f"the engine alone: {1000 * alone_s:.2f} ms")
    if arguments.steps:
        _tell_steps(arguments.steps, arguments.step_ms)
        return
    names = ("a second", "streams", "p50 ms", "p95 ms", "p99 ms", "dry", "errors", "CPU ms")
    print(*(f"{name:>8}" for name in names))
    print(f"{'':>60} (of the API for a stream)")
    with guarded_run() as folder, served_api(folder, arguments.apis) as api, _worker(api, folder, arguments.step_ms):
        asyncio.run(_until_served(api))
        for rate in arguments.rates:
            print(asyncio.run(_measure(api, rate, arguments.seconds)), flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rates", type=float, nargs="+", default=[1, 10, 20], help="requests a second")
    parser.add_argument("--seconds", type=float, default=10, help="of arrivals, for each rate")
    parser.add_argument("--step-ms", type=float, default=10, help="of the fake engine: a frame of 80 ms of speech")
    parser.add_argument("--steps", type=int, default=0, help="requests whose way is told step by step")
    parser.add_argument("--apis", type=int, default=1, help="processes of the API")
    return parser


def _engine_alone(step_s: float) -> float:
    """Median of its first sample that is no silence, which nobody is sent, without anything around it."""
    engine = FakeEngine(FakeEngineSettings(slots=1, live_slots=1, step_s=step_s))
    firsts: list[float] = []
    for number in range(20):
        came_s: list[float] = []
        request = SpeechRequest(
            f"r{number}", TEXT, BuiltInSpeaker(VOICE), text_mode=TextMode.PER_FRAME, urgency=Urgency.LIVE
        )
        began_s = time.perf_counter()

        def note(chunk: SpeechChunk, came_s: list[float] = came_s) -> None:
            if chunk.pcm.any():
                came_s.append(time.perf_counter())

        engine.submit(request, note).result()
        firsts.append(came_s[0] - began_s)
    engine.close()
    return sorted(firsts)[len(firsts) // 2]


def _tell_steps(number: int, step_ms: float) -> None:
    with guarded_run() as folder:
        files = {name: folder / f"{name}.steps" for name in ("api", "worker")}
        noting = {name: ("benchmarks.live.steps", str(file)) for name, file in files.items()}
        with (
            served_api(folder, module=(*noting["api"], "api.server")) as api,
            _worker(api, folder, step_ms, noting["worker"]),
        ):
            asyncio.run(_until_served(api))
            ways = [asyncio.run(_way(api, list(files.values()))) for _ in range(number)]
    names = [name for _, name in ways[0]]
    print(f"{'step':<28} {'ms':>7} {'since the one before':>22}")
    before_ms = 0.0
    for name in names:
        at_ms = statistics.median(at / 1e6 for way in ways for at, passed in way if passed == name)
        print(f"{name:<28} {at_ms:>7.2f} {at_ms - before_ms:>22.2f}")
        before_ms = at_ms
    _tell_difference([{name: at / 1e6 for at, name in way} for way in ways])


def _tell_difference(ways: list[dict[str, float]]) -> None:
    """ways: when each step was passed, in ms."""
    engine = [way[ENGINE_END] - way[ENGINE_BEGIN] for way in ways]
    http = [way[LAST] for way in ways]
    between = [heard - made for heard, made in zip(http, engine, strict=True)]
    print(f"{'':<28} {'p10':>7} {'p50':>7} {'p95':>7} ms")
    for name, times in (("HTTP's first sample", http), ("the engine's", engine), ("between them", between)):
        print(f"{name:<28}", *(f"{percentile(times, share):>7.2f}" for share in (0.1, 0.5, 0.95)))


async def _way(api: ServedApi, files: list[Path]) -> list[tuple[int, str]]:
    """When each step was passed, in ns since the request was sent."""
    began_ns = now_ns()
    heard = await _hear(api)
    if isinstance(heard, str):
        sys.exit(f"not heard: {heard}")
    notes = [(at - began_ns, name) for at, name in read_notes(files) if at >= began_ns]
    passed = [(round(1e9 * heard.first_s), LAST)]
    for step, time_of_step in TIMES.items():
        passed += [(at, name) for at, name in notes if name == step][time_of_step - 1 : time_of_step]
    return sorted(passed)


@contextmanager
def _worker(api: ServedApi, folder: Path, step_ms: float, noting: tuple[str, ...] = ()) -> Generator[None]:
    urls = [each.get_secret_value() for each in (api.settings.redis_url, api.settings.broker_url)]
    store = str(api.settings.store_path)
    command = [sys.executable, "-m", *noting, "tests.api.live.speaking_worker", "gpu-0", *urls, store, str(SLOTS)]
    with (folder / "worker.log").open("wb") as log:
        process = subprocess.Popen([*command, str(step_ms / 1000)], cwd=ROOT, stdout=log, stderr=log)
        try:
            yield
        finally:
            process.kill()
            process.wait()


async def _until_served(api: ServedApi) -> None:
    give_up_s = time.monotonic() + 60
    while isinstance(await _hear(api), str):
        if time.monotonic() > give_up_s:
            sys.exit(f"nothing speaks: {await _hear(api)}")
        await asyncio.sleep(0.2)


async def _measure(api: ServedApi, rate: float, seconds: float) -> str:
    """Arrivals at random, as those of many who do not know of each other are."""
    chance, streams = random.Random(1), []
    began_s, used_s = time.monotonic(), api.cpu_s()
    while time.monotonic() - began_s < seconds:
        streams.append(asyncio.create_task(_hear(api)))
        await asyncio.sleep(chance.expovariate(rate))
    told = await asyncio.gather(*streams)
    heard = [each for each in told if isinstance(each, Heard)]
    dry, errors = sum(each.ran_dry for each in heard), len(told) - len(heard)
    first_ms = [1000 * each.first_s for each in heard] or [math.nan]  # where every one was refused
    p50, p95, p99 = (percentile(first_ms, share) for share in (0.5, 0.95, 0.99))
    cpu_ms = 1000 * (api.cpu_s() - used_s) / len(told)
    return f"{rate:>8g} {len(told):>8} {p50:>8.1f} {p95:>8.1f} {p99:>8.1f} {dry:>8} {errors:>8} {cpu_ms:>8.1f}"


async def _hear(api: ServedApi) -> Heard | str:
    """Over a bare socket: a richer client would measure itself. The answer's status line where it is no audio."""
    reader, writer = await asyncio.open_connection("127.0.0.1", api.port)
    body = json.dumps({"model": "fake", "voice": VOICE, "input": TEXT, "stream": True, "response_format": "pcm"})
    head = (
        "POST /v1/audio/speech HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {api.key}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    began_s = time.perf_counter()
    writer.write((head + body).encode())
    try:
        answer = await reader.readuntil(b"\r\n\r\n")
        if not answer.startswith(b"HTTP/1.1 200"):
            return (answer + await reader.read()).decode()
        return await _listen(reader, began_s)
    finally:
        writer.close()


async def _listen(reader: asyncio.StreamReader, began_s: float) -> Heard:
    """Chunk by chunk; an empty one is the end."""
    num_bytes, first_s, ran_dry = 0, 0.0, False
    while size := int(await reader.readline(), 16):
        await reader.readexactly(size + 2)
        now_s = time.perf_counter() - began_s
        first_s = first_s or now_s
        ran_dry |= now_s > first_s + _seconds(num_bytes) + 1e-3 and num_bytes > 0
        num_bytes += size
    return Heard(first_s, _seconds(num_bytes), ran_dry)


def _seconds(num_bytes: int) -> float:
    return num_bytes / 2 / SAMPLE_RATE_HZ


if __name__ == "__main__":
    main()
