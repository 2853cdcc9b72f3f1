"""One process that is a fork server, as seen from the process that started it: from its start to its end."""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from typing import IO

from storage.runtime.fork_server.protocol import READY, ChildOrder, ConnectionEnded, send_order

# What a dynamic loader or a locale may need; nothing that is named after us, no credentials.
_ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "TZ")
_START_PATIENCE_S = 60.0
_END_PATIENCE_S = 5.0


class ForkServerBroken(RuntimeError):
    """It does not start on this machine, or dies of whatever it is asked; the message says what it complained of."""


class ForkServerProcess:
    """Any thread may call any method; orders are sent one at a time."""

    def __init__(self, process: subprocess.Popen[bytes], control: socket.socket, complaints: IO[bytes]) -> None:
        self._process = process
        self._control = control
        self._complaints = complaints
        self._lock = threading.Lock()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_up(self) -> bool:
        return self._process.poll() is None

    def send(self, order: ChildOrder) -> None:
        """Raises `ConnectionEnded` if it is gone."""
        with self._lock:
            if self._control.fileno() < 0:
                raise ConnectionEnded
            send_order(self._control, order)

    def leave(self) -> None:
        """It takes no more orders, and ends with the last of its children."""
        with self._lock:
            self._control.close()

    def kill(self) -> None:
        """At once; on Linux with every child."""
        self._process.kill()

    def end(self) -> str:
        """After `leave`, after `kill`, or when it died: wait, and say what it complained of. May be called again."""
        self.leave()
        try:
            self._process.wait(_END_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        with self._lock:
            said = "" if self._complaints.closed else tail(self._complaints)
            self._complaints.close()
        return said or f"status {self._process.returncode}"


def start(command: Sequence[str]) -> ForkServerProcess:
    """Returns when it is ready. Raises `ForkServerBroken`."""
    control, theirs = socket.socketpair()
    complaints = tempfile.TemporaryFile()  # noqa: SIM115 - open until `ForkServerProcess.end`
    # In its own session: a terminal's Ctrl-C is for the process that started it, whose end it notices. In the root
    # folder: it keeps none of ours busy.
    with theirs:
        process = subprocess.Popen(
            command,
            stdin=theirs.fileno(),
            stdout=subprocess.DEVNULL,
            stderr=complaints,
            env=_environment(),
            cwd="/",
            start_new_session=True,
        )
    process = ForkServerProcess(process, control, complaints)
    if not _is_ready(control):
        process.kill()
        raise ForkServerBroken(f"{command[-1]} does not start: {process.end()}")
    return process


def tail(complaints: IO[bytes]) -> str:
    """The end of what a process wrote to its standard error."""
    complaints.seek(0)
    return complaints.read(100_000)[-500:].decode(errors="replace").strip()


def _is_ready(control: socket.socket) -> bool:
    control.settimeout(_START_PATIENCE_S)
    try:
        return control.recv(1) == READY
    except (TimeoutError, ConnectionResetError):
        return False
    finally:
        control.settimeout(None)


def _environment() -> Mapping[str, str]:
    kept = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    # A pool of threads: for nothing, of address space that the child's limit counts, and no company for a fork.
    return kept | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
