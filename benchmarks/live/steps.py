"""The way of a request for live speech to the engine and back, step by step, on the clock of the machine.

    python benchmarks/live/steps.py [--requests 50] [--step-ms 10]

API and worker (the engine without a model) are separate processes. They write the time of each step to a file. Requests
come one after the other. Reported as medians: when each step is passed, then HTTP's first sample, the engine's, and the
difference. `python -m benchmarks.live.steps --note FILE MODULE ARGUMENTS...` runs a module that notes.
"""

from __future__ import annotations

import argparse
import asyncio
import functools
import importlib
import inspect
import json
import os
import runpy
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.rig import ROOT, START_S, ServedApi, parser, served_api
from rhapsode.bench.server.connections import connected, read_origin
from rhapsode.bench.server.listening import RequestFailed
from rhapsode.bench.statistics import percentile
from tests.run_guard import guarded_run

TEXT = "A sentence of four to six seconds is what everybody is asked for here."
SLOTS = 16


@dataclass(frozen=True)
class Step:
    """name: of what has happened. owner: `module:Class`, or the module. is_end: when the function returns. time: which
    one of a request's calls, as the first chunk of the fake engine is silence that nobody is sent."""

    name: str
    owner: str
    function: str
    is_end: bool = False
    time: int = 1


STEPS = (
    Step("at the application", "api.http.middleware.request_traces:RequestTraces", "__call__"),
    Step("caller known", "api.access.authentication:", "_caller", is_end=True),
    Step("order read", "api.openai.streaming:", "live_order"),
    Step("names looked up", "api.openai.streaming:", "live_order", is_end=True),
    Step("counted in Redis", "api.live.accounts:Accounts", "open", is_end=True),
    Step("sent to a worker", "api.live.link:WorkerLink", "board"),
    Step("at the worker", "worker.live.connection:LiveConnection", "_open"),
    Step("at the engine", "worker.engine.fake:FakeEngine", "submit"),
    Step("the engine's first sound", "worker.live.stream:LiveStream", "_post", time=2),
    Step("sent to the API", "worker.live.stream:LiveStream", "_send_audio", time=2),
    Step("at the API", "api.live.stream:LiveStream", "_take_audio", time=2),
    Step("answer begun", "api.openai.streaming:SpeechStream", "__call__"),
    Step("head framed", "api.http.middleware.framing:StrictConnection", "send", is_end=True),
    Step("first bytes framed", "api.http.middleware.framing:StrictConnection", "send", is_end=True, time=2),
)
LAST = "heard"


def main() -> None:
    if sys.argv[1:2] == ["--note"]:
        _run_noting(sys.argv[2], sys.argv[3], sys.argv[4:])
        return
    options = parser(__doc__)
    options.add_argument("--requests", type=int, default=50)
    options.add_argument("--step-ms", type=float, default=10, help="of the engine: a frame of 80 ms of speech")
    given = options.parse_args()
    with guarded_run() as folder:
        files = [folder / "api.steps", folder / "worker.steps"]
        with (
            served_api(folder, module=("benchmarks.live.steps", "--note", str(files[0]), "api.server")) as api,
            _worker(api, files[1], given),
        ):
            ways = asyncio.run(_ways(api, files, given.requests))
    _tell(ways)


@contextmanager
def _worker(api: ServedApi, notes: Path, given: argparse.Namespace) -> Generator[None]:
    urls = [each.get_secret_value() for each in (api.settings.redis_url, api.settings.broker_url)]
    noting = ["-m", "benchmarks.live.steps", "--note", str(notes), "tests.api.live.speaking_worker", "gpu-0"]
    arguments = [*urls, str(api.settings.store_path), str(SLOTS), str(given.step_ms / 1000)]
    with notes.with_suffix(".log").open("wb") as log:
        process = subprocess.Popen([sys.executable, *noting, *arguments], cwd=ROOT, stdout=log, stderr=log)
        try:
            yield
        finally:
            process.kill()
            process.wait()


async def _ways(api: ServedApi, files: Sequence[Path], count: int) -> list[dict[str, float]]:
    """By request, the milliseconds since it was sent at which each step was passed."""
    give_up_s = time.monotonic() + START_S
    while isinstance(refusal := await _first_ms(api), str):
        if time.monotonic() > give_up_s:
            sys.exit(f"nothing speaks: {refusal}")
        await asyncio.sleep(0.2)
    ways: list[dict[str, float]] = []
    for _ in range(count):
        began_ns = _now_ns()
        first_ms = await _first_ms(api)
        if isinstance(first_ms, str):
            sys.exit(f"not heard: {first_ms}")
        notes = [(at - began_ns, name) for at, name in _read_notes(files) if at >= began_ns]
        passed = {step.name: [at for at, name in notes if name == step.name][step.time - 1] for step in STEPS}
        ways.append({LAST: first_ms, **{name: at / 1e6 for name, at in passed.items()}})
    return ways


async def _first_ms(api: ServedApi) -> float | str:
    """To the first bytes of the answer, which is read to its end; or what was refused."""
    order = {"model": "fake", "voice": "ada", "input": TEXT, "stream": True, "response_format": "pcm"}
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {api.key}"}
    try:
        async with connected(read_origin(api.url)) as connection:
            began_ns = _now_ns()
            answer = await connection.ask("POST", "/v1/audio/speech", headers, json.dumps(order).encode())
            if not answer.is_success:
                return str(await connection.refused(answer))
            moments = [_now_ns() async for _ in connection.pieces()]
    except RequestFailed as error:
        return str(error)
    return (moments[0] - began_ns) / 1e6


def _tell(ways: Sequence[dict[str, float]]) -> None:
    medians = {name: statistics.median(way[name] for way in ways) for name in ways[0]}
    print(f"{'step':<28} {'ms':>7} {'since the one before':>22}")
    before_ms = 0.0
    for name, at_ms in sorted(medians.items(), key=lambda step: step[1]):
        print(f"{name:<28} {at_ms:>7.2f} {at_ms - before_ms:>22.2f}")
        before_ms = at_ms
    engine = [way["the engine's first sound"] - way["at the engine"] for way in ways]
    http = [way[LAST] for way in ways]
    between = [heard - made for heard, made in zip(http, engine, strict=True)]
    print(f"{'':<28} {'p10':>7} {'p50':>7} {'p95':>7} ms")
    for name, times in (("HTTP's first sample", http), ("the engine's", engine), ("between them", between)):
        print(f"{name:<28}", *(f"{percentile(times, share):>7.2f}" for share in (0.1, 0.5, 0.95)))


def _run_noting(file: str, module: str, arguments: Sequence[str]) -> None:
    notes = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    package = "api" if module.startswith("api.") else "worker"
    for step in STEPS:
        owner, _, name = step.owner.partition(":")
        if owner.split(".")[0] == package:
            found: Any = importlib.import_module(owner)
            place = getattr(found, name) if name else found
            note = functools.partial(_note, notes, step.name)
            setattr(place, step.function, _noting(getattr(place, step.function), note, is_end=step.is_end))
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _noting(function: Callable[..., Any], note: Callable[[], None], *, is_end: bool) -> Callable[..., Any]:
    before, after = (lambda: None, note) if is_end else (note, lambda: None)

    @functools.wraps(function)
    async def noting_coroutine(*given: Any, **named: Any) -> Any:  # noqa: ANN401 - whatever it is
        before()
        result = await function(*given, **named)
        after()
        return result

    @functools.wraps(function)
    def noting(*given: Any, **named: Any) -> Any:  # noqa: ANN401 - whatever it is
        before()
        result = function(*given, **named)
        after()
        return result

    return noting_coroutine if inspect.iscoroutinefunction(function) else noting


def _note(notes: int, name: str) -> None:
    os.write(notes, f"{_now_ns()} {name}\n".encode())


def _now_ns() -> int:
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def _read_notes(files: Sequence[Path]) -> list[tuple[int, str]]:
    """All of them, by time."""
    lines = [line.partition(" ") for file in files if file.exists() for line in file.read_text().splitlines()]
    return sorted((int(at), name) for at, _, name in lines)


if __name__ == "__main__":
    main()
