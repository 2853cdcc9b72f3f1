"""A process goes on as another one, unless it is told to end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

PROGRAM = """
import os, signal, sys
from worker.process.successor import SUCCESSION
print(os.environ["WHICH"], os.getpid(), flush=True)
if os.environ["WHICH"] == "first":
    SUCCESSION.plan({"WHICH": "second"})
    BEFORE
    SUCCESSION.become()
print("ended", flush=True)
"""


def run(before: str = "pass") -> tuple[list[list[str]], int]:
    program = [sys.executable, "-c", PROGRAM.replace("BEFORE", before)]
    ended = subprocess.run(
        program, env={**os.environ, "WHICH": "first"}, capture_output=True, text=True, check=False, timeout=60
    )
    return [line.split() for line in ended.stdout.splitlines()], ended.returncode


def test_it_is_the_same_process_with_another_environment() -> None:
    lines, status = run()

    assert [line[0] for line in lines] == ["first", "second", "ended"]
    assert lines[0][1] == lines[1][1]
    assert status == 0


def test_one_that_was_told_to_end_does() -> None:
    lines, status = run("SUCCESSION.forbid()")

    assert [line[0] for line in lines] == ["first", "ended"]
    assert status == 0


@pytest.mark.skipif(sys.platform == "win32", reason="it has no such signals")
def test_a_signal_that_comes_last_ends_it() -> None:
    """Between the last look and the new process there is nobody who would hear a wish."""
    lines, status = run(
        "execve = os.execve; os.execve = lambda *given: (os.kill(os.getpid(), signal.SIGTERM), execve(*given))"
    )

    assert [line[0] for line in lines] == ["first"]
    assert status == -signal.SIGTERM
