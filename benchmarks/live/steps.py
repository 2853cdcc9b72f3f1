"""When a request for live speech passes each step on its way to the engine and back, on the clock of the machine.

    python -m benchmarks.live.steps FILE MODULE [ARGUMENTS]

runs a module of ours that notes in the file, a line each, which step it passes when. Only a process that is started so
does anything of this.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import inspect
import os
import runpy
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


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
ENGINE_BEGIN, ENGINE_END = "at the engine", "the engine's first sound"
"""What lies between them is the engine's own."""

TIMES = {step.name: step.time for step in STEPS}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("module")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    _run(given.file, given.module, given.arguments)


def _run(file: str, module: str, arguments: Sequence[str]) -> None:
    notes = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for step in STEPS:
        owner, _, name = step.owner.partition(":")
        if owner.split(".")[0] == _package(module):
            _follow(step, importlib.import_module(owner), name, functools.partial(_note, notes, step.name))
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def now_ns() -> int:
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def read_notes(files: Sequence[Path]) -> list[tuple[int, str]]:
    """All of them, by time."""
    lines = [line for file in files if file.exists() for line in file.read_text().splitlines()]
    return sorted((int(at), name) for at, _, name in (line.partition(" ") for line in lines))


def _package(module: str) -> str:
    """Of the process: the API's, or else a worker's."""
    return "api" if module.startswith("api.") else "worker"


def _note(notes: int, name: str) -> None:
    os.write(notes, f"{now_ns()} {name}\n".encode())


def _follow(step: Step, module: Any, name: str, note: Callable[[], None]) -> None:  # noqa: ANN401 - any module of ours
    owner = getattr(module, name) if name else module
    setattr(owner, step.function, _noting(getattr(owner, step.function), note, is_end=step.is_end))


def _noting(function: Callable[..., Any], note: Callable[[], None], *, is_end: bool) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def noting_coroutine(*given: Any, **named: Any) -> Any:  # noqa: ANN401 - whatever it is
            if not is_end:
                note()
            result = await function(*given, **named)
            if is_end:
                note()
            return result

        return noting_coroutine

    @functools.wraps(function)
    def noting(*given: Any, **named: Any) -> Any:  # noqa: ANN401 - whatever it is
        if not is_end:
            note()
        result = function(*given, **named)
        if is_end:
            note()
        return result

    return noting


if __name__ == "__main__":
    main()
