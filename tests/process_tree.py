"""Processes that a test has started: which of them run, what they have started in turn, and the end of them all.

Only Linux shows all this, in /proc. Elsewhere no process is found below another.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

PATIENCE_S = 120.0
"""For what takes a moment on an idle machine."""


class _Stat(NamedTuple):
    state: str
    parent: int
    group: int
    num_threads: int

    @property
    def is_alive(self) -> bool:
        # The first thread may be gone while another still writes.
        return self.state not in "ZX" or self.num_threads > 1


def is_alive(pid: int) -> bool:
    """It runs. One that has ended does not, whether or not its parent has asked for its status."""
    stat = _stat(pid)
    return stat is not None and stat.is_alive


def children_of(pid: int) -> list[int]:
    """Those that run, lowest number first."""
    return sorted(child for child, stat in _all_alive() if stat.parent == pid)


def runs_module(pid: int, module: str) -> bool:
    """It was started as `python -m module`."""
    try:
        return module.encode() in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError):
        return False


def everything_below(pids: Collection[int]) -> set[int]:
    """These, and all that run and were started by them, known by parent or by process group."""
    found, grew = set(pids), True
    while grew:
        more = {pid for pid, stat in _all_alive() if stat.parent in found or stat.group in found} - found
        found |= more
        grew = bool(more)
    return found


def end_everything_below(pids: Collection[int]) -> None:
    """SIGKILL to these and to all they have started. None of them writes to a file any more when this returns.

    pids: children of ours, not yet waited for, so that no number is another's by now.
    """
    # So that no process is started that the look below misses.
    _signal(pids, signal.SIGSTOP)
    known, deadline = everything_below(pids), time.monotonic() + PATIENCE_S
    _signal(known, signal.SIGKILL)
    while alive := {pid for pid in everything_below(known) if is_alive(pid)}:
        assert time.monotonic() < deadline, f"still there: {_described(alive)}"
        known |= alive
        _signal(alive, signal.SIGKILL)
        time.sleep(0.01)


def terminate(process: subprocess.Popen[Any]) -> None:
    """SIGTERM. A process that has not ended within the limit is killed, which is a failure."""
    process.terminate()
    try:
        process.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        raise


def wait_until_gone(pids: Collection[int]) -> None:
    """Without doing anything to them."""
    left, deadline = set(pids), time.monotonic() + PATIENCE_S
    while left := {pid for pid in left if is_alive(pid)}:
        assert time.monotonic() < deadline, f"still there: {_described(left)}"
        time.sleep(0.02)


def described_below(pid: int) -> str:
    """A line for each process that it started: its command, and where in the kernel its threads wait."""
    below = sorted(everything_below([pid]) - {pid})
    return "".join(f"  {_described([each])}: {_waits_of(each)}\n" for each in below)


def _waits_of(pid: int) -> str:
    try:
        waits = Counter((thread / "wchan").read_text() for thread in Path(f"/proc/{pid}/task").iterdir())
    except (FileNotFoundError, ProcessLookupError, PermissionError) as error:
        return f"unknown, {error.strerror}"
    # The kernel says 0 of a thread that runs, and where it tells nobody.
    return ", ".join(f"{count} x {place}" for place, count in waits.most_common())


def _signal(pids: Collection[int], signum: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signum)


def _described(pids: Collection[int]) -> str:
    return ", ".join(f"{pid} ({_command(pid)})" for pid in sorted(pids))


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except (FileNotFoundError, ProcessLookupError):
        return "gone by now"


def _all_alive() -> Iterator[tuple[int, _Stat]]:
    for entry in Path("/proc").glob("[0-9]*"):
        stat = _stat(int(entry.name))
        if stat is not None and stat.is_alive:
            yield int(entry.name), stat


def _stat(pid: int) -> _Stat | None:
    try:
        # The name in brackets may itself hold brackets and spaces.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return _Stat(fields[0], int(fields[1]), int(fields[2]), int(fields[17]))
