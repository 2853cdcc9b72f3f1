"""Fork servers of the tests' own: their children do what a line of Python says."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable

from storage.runtime.fork_server.client import ChildEnd, ChildTask, ForkServer

PRELUDE = """
import json, os, signal, socket, sys, threading
from storage.runtime.fork_server.limits import ChildLimits
from storage.runtime.fork_server.server import serve
def say(found):
    sys.stdout.write(json.dumps(found))
    sys.stdout.flush()
"""


def fork_server_of(task: str, setup: str = "") -> ForkServer:
    """task: the body of a function of `arguments`; setup: what its fork server does before."""
    body = "\n".join(f"    {line}" for line in ("pass", *task.splitlines()))
    program = f"{PRELUDE}\n{setup}\ndef task(arguments):\n{body}\nserve(task, ChildLimits(1 << 30, 5, 1 << 20))\n"
    return ForkServer((sys.executable, "-I", "-B", "-c", program))


def ask(
    fork_server: ForkServer,
    *arguments: str,
    data: bytes = b"",
    patience_s: float = 30.0,
    check: Callable[[], None] = lambda: None,
) -> ChildEnd:
    with tempfile.TemporaryFile() as file:
        file.write(data)
        return fork_server.run(ChildTask(arguments, file, 1 << 20, patience_s, check))
