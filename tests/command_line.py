"""Runs of the `rhapsode` command in processes of their own that have loaded it already.

To start Python and import what a command needs takes half a second of a core, and the tests start hundreds. Here one
process does that, and each run is its fork: with its own arguments, environment, folder, standard streams and status.
What a start itself does is tested with the command as installed: tests/rhapsode/cli/test_command_line.py,
tests/rhapsode/stack/test_up.py and tests/readmes.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.threads import BoundedExecutor

CLI = str(Path(sys.executable).parent / "rhapsode")
HERE = Path()
ONE_OF_EACH = ("--device", "cpu", "--api-processes", "1", "--cpu-workers", "1")
"""With these `rhapsode up` starts the same processes on every machine, whatever cores and GPUs it has."""

SERVER = Path(__file__).parent / "command_server.py"
PATIENCE_S = 120.0


@dataclass(frozen=True, slots=True)
class CommandLine:
    """As `subprocess.run` of the command; any thread may call."""

    control: socket.socket

    def run(
        self, *arguments: str, environment: Mapping[str, str], folder: Path = HERE, input: bytes = b""
    ) -> subprocess.CompletedProcess[str]:
        command = [CLI, *arguments]
        order = {"command": command, "folder": str(folder.absolute()), "environment": dict(environment)}
        (stdin, feed), (read_out, stdout), (read_err, stderr) = os.pipe(), os.pipe(), os.pipe()
        line, far_end = socket.socketpair()
        socket.send_fds(self.control, [b"r"], [far_end.fileno(), stdin, stdout, stderr])
        far_end.close()
        for descriptor in (stdin, stdout, stderr):
            os.close(descriptor)
        with line, BoundedExecutor(3) as streams:
            streams.submit(_feed, feed, input)
            said, complained = (streams.submit(_read, descriptor) for descriptor in (read_out, read_err))
            status = _status(line, order)
        return subprocess.CompletedProcess(command, status, said.result(), complained.result())


def _status(line: socket.socket, order: Mapping[str, object]) -> int:
    line.settimeout(PATIENCE_S)
    with line.makefile("rw") as words:
        print(json.dumps(order), file=words, flush=True)
        run = int(words.readline())
        try:
            return int(words.readline())
        except TimeoutError:
            os.kill(run, signal.SIGKILL)
            raise


def _feed(descriptor: int, data: bytes) -> None:
    # A command need not read all it is given.
    with suppress(BrokenPipeError), open(descriptor, "wb") as stream:
        stream.write(data)


def _read(descriptor: int) -> str:
    with open(descriptor, "rb") as stream:
        return stream.read().decode()


@contextmanager
def loaded_command_line() -> Generator[CommandLine]:
    """Until the block ends."""
    control, servers_end = socket.socketpair()
    command = [sys.executable, "-P", str(SERVER), str(servers_end.fileno())]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=[servers_end.fileno()]):
        servers_end.close()
        # Its end is the server's, for which Popen waits.
        with control:
            yield CommandLine(control)
