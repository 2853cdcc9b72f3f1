"""Zygotes of the tests' own: their children do what a line of Python says."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable

from storage.runtime.fork_server.client import Ended, Reading, Zygote

PRELUDE = """
import json, os, signal, socket, sys, threading
from storage.runtime.fork_server.limits import ChildLimits
from storage.runtime.fork_server.server import serve
def say(found):
    sys.stdout.write(json.dumps(found))
    sys.stdout.flush()
"""


def zygote_of(task: str, setup: str = "") -> Zygote:
    """task: the body of a function of `arguments`; setup: what its zygote does before."""
    body = "\n".join(f"    {line}" for line in ("pass", *task.splitlines()))
    program = f"{PRELUDE}\n{setup}\ndef task(arguments):\n{body}\nserve(task, ChildLimits(1 << 30, 5, 1 << 20))\n"
    return Zygote((sys.executable, "-I", "-B", "-c", program))


def ask(
    zygote: Zygote,
    *arguments: str,
    data: bytes = b"",
    patience_s: float = 30.0,
    check: Callable[[], None] = lambda: None,
) -> Ended:
    with tempfile.TemporaryFile() as file:
        file.write(data)
        return zygote.run(Reading(arguments, file, 1 << 20, patience_s, check))
