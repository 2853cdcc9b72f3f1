"""A program that a worker starts as its own process: how it is started, what it does first, and how both ends end.

It lives and ends with the worker, to which it is bound by sockets that no other process holds an end of.
"""

from __future__ import annotations

import ctypes
import logging
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import NoReturn

from worker.process.children.channel import Channel

logger = logging.getLogger(__name__)

BROKEN_STATUS = 5

_EXIT_GRACE_S = 2.0
_PR_SET_PDEATHSIG = 1


def start_program(
    module: str,
    *arguments: str,
    num_channels: int = 1,
    stderr: int | None = None,
    environment: Mapping[str, str] | None = None,
) -> tuple[subprocess.Popen[bytes], list[Channel]]:
    """The process, and our ends of its channels. environment: beside the worker's.

    In a thread that outlives it: on Linux the kernel kills the process when the starting thread ends.
    """
    with ExitStack() as our_ends, ExitStack() as its_ends:
        pairs = [
            (our_ends.enter_context(ours), its_ends.enter_context(its))
            for ours, its in (socket.socketpair() for _ in range(num_channels))
        ]
        numbers = [its.fileno() for _, its in pairs]
        process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments, str(os.getpid()), ",".join(map(str, numbers))],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            pass_fds=numbers,
            env={**os.environ, **(environment or {})},
        )
        our_ends.pop_all()
    return process, [Channel(ours) for ours, _ in pairs]


def begin_program(release: bytes) -> list[Channel]:
    """The first call of a program, in its main thread. Returns its channels; the first one has been greeted."""
    worker, numbers = sys.argv[-2:]
    _belong_to(int(worker))
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    channels = [Channel(socket.socket(fileno=int(number))) for number in numbers.split(",")]
    channels[0].greet(release)
    return channels


def end_with(loop: Callable[[], int]) -> NoReturn:
    """End the program with the loop, at once: a step under way must not hold it, or the memory of a GPU.

    loop: returns the exit status, or fails with the connection when the worker is gone.
    """
    try:
        status = loop()
    except ConnectionError:
        status = 0
    except Exception:  # the process's end: its status tells the worker what its log tells in full
        logger.exception("this process cannot go on")
        status = BROKEN_STATUS
    os._exit(status)


def reap(process: subprocess.Popen[bytes]) -> str:
    """Wait until the program has gone, kill it if it does not. Returns how it ended."""
    try:
        status = process.wait(_EXIT_GRACE_S)
    except subprocess.TimeoutExpired:
        process.kill()  # it was told to end, and lives on
        status = process.wait()
    return f"killed by {signal.Signals(-status).name}" if status < 0 else f"exited with status {status}"


def _belong_to(worker: int) -> None:
    """Have the kernel kill this process when the thread that started it ends, also while it is stopped or busy in a
    library. Outside Linux, the end of its socket ends it. If the worker is already gone, the process ends at once.
    """
    # Ctrl-C and a service manager's SIGTERM reach the whole group; the worker decides when its processes end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if sys.platform != "linux":
        return
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    if os.getppid() != worker:
        sys.exit("the worker is gone")  # it ended before `prctl` was called
