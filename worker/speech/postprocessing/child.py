"""One finisher process, seen from the worker: its lines, and its end."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack

from worker.speech.postprocessing.channel import Line
from worker.speech.postprocessing.process import READY

START_PATIENCE_S = 60
"""From starting the process to its readiness. It takes half a second where nothing else does."""

PATIENCE_S = 150
"""For a call. An object store that answers at its very last moment takes 92 s: four tries of 23 s."""

_EXIT_GRACE_S = 2.0


class FinisherUnusable(Exception):
    """A finisher said why it cannot start."""


class FinisherChild:
    """A process and its lines. Only `end` may be called while others use them.

    idle: the lines that nobody has borrowed; whoever borrows one closes it if the process has ended meanwhile.
    """

    def __init__(self, num_lines: int, environment: Mapping[str, str], worker: str) -> None:
        """Returns at once; the process is of use after `wait_ready`.

        In a thread that outlives it: on Linux the kernel kills the process when the starting thread ends.
        """
        with ExitStack() as our_ends, ExitStack() as its_ends:
            self._leash, its_leash = _pair(our_ends, its_ends, START_PATIENCE_S)
            lines = [_pair(our_ends, its_ends, PATIENCE_S) for _ in range(num_lines)]
            self.idle = [line for line, _ in lines]
            its_lines = [its_end for _, its_end in lines]
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "worker.speech.postprocessing.process"),
                    *("--parent", str(os.getpid()), "--worker", worker),
                    *("--leash", str(its_leash), "--lines", ",".join(map(str, its_lines))),
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[its_leash, *its_lines],
                # Its threads are many already: linear algebra with threads of its own would only be in the way.
                env={**os.environ, **environment, "OPENBLAS_NUM_THREADS": "1"},
            )
            our_ends.pop_all()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def wait_ready(self) -> None:
        """Raises `FinisherUnusable` with what it says, or `OSError` if it ends or says nothing."""
        said = self._leash.receive()
        if said != READY:
            raise FinisherUnusable(str(said))

    def end(self) -> None:
        """Kill it; calls under way fail, and their lines are closed by who has borrowed them."""
        self._process.kill()
        self.close()

    def close(self) -> None:
        """Hang up, and wait until it has gone."""
        self._leash.close()
        for line in self.idle:
            line.close()
        try:
            self._process.wait(_EXIT_GRACE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _pair(our_ends: ExitStack, its_ends: ExitStack, patience_s: int) -> tuple[Line, int]:
    """Our end and the descriptor of the other, each to be closed with its stack."""
    ours, its = socket.socketpair()
    our_ends.enter_context(ours)
    its_ends.enter_context(its)
    line = Line(ours)
    line.set_patience(patience_s)
    return line, its.fileno()
