"""What `tests.loaded_programs` forks: a process that has the modules of a whole system loaded, and one thread.

A program. By the socket whose number it is given come orders; it answers each with the number of the process that
becomes the program. It ends with that socket.
"""

from __future__ import annotations

import gc
import importlib
import io
import json
import os
import pkgutil
import runpy
import signal
import socket
import sys
import time
from ctypes import memmove
from itertools import pairwise
from pathlib import Path
from typing import Any

import rhapsode
from rhapsode.__main__ import main as command_line
from rhapsode.stack.supervision import launcher
from tests.command_server import NOT_AHEAD, run_to_the_end
from tests.loaded_programs import CLI, STARTERS, LoadedPrograms, use

AHEAD = (
    *("api.app", "api.http.middleware.connections", "api.http.middleware.websockets", "uvicorn", "uvloop"),
    *("celery.bin.base", "celery.bin.worker", "celery.concurrency.thread", "celery.worker", "kombu.transport.redis"),
    *("worker.process.successor", "worker.lifecycle.start", "worker.process.signals"),
    *("worker.engine.process.host", "worker.engine.native", "worker.lifecycle.live.process", "worker.live.server"),
    *("worker.janitor.sweeper", "worker.janitor.voices", "worker.janitor.webhooks"),
    *("worker.process.reporting", "worker.process.state_watch", "storage.database.embedded_valkey"),
)
"""Not those that read settings when they are imported: `worker.cpu_app`, `worker.gpu_app` and `worker.webhooks.app`."""

PATIENCE_S = 60.0


def load_everything() -> None:
    for module in pkgutil.walk_packages(rhapsode.__path__, "rhapsode."):
        if module.name not in NOT_AHEAD:
            importlib.import_module(module.name)
    for name in AHEAD:
        importlib.import_module(name)
    gc.freeze()


def serve(control: socket.socket) -> list[str]:
    """Returns in each process that is to become a program: its command."""
    while True:
        data, descriptors, _, _ = socket.recv_fds(control, 1 << 20, 64)
        if not data:
            os._exit(0)
        between = os.fork()
        if between == 0:
            if os.fork():
                os._exit(0)
            return become(json.loads(data), descriptors, control)
        os.waitpid(between, 0)
        for descriptor in descriptors:
            os.close(descriptor)


def become(order: dict[str, Any], descriptors: list[int], control: socket.socket) -> list[str]:
    """What the kernel and Python do between the fork and the first line of a program."""
    deadline = time.monotonic() + PATIENCE_S
    while os.getppid() != order["parent"]:
        if time.monotonic() > deadline:
            sys.exit("the process that asked for a program is gone")
        time.sleep(0.0005)
    if order["new_session"]:
        os.setsid()
    signal.signal(signal.SIGHUP, signal.SIG_IGN if order["ignores_hangup"] else signal.SIG_DFL)
    control.send(str(os.getpid()).encode())
    control.close()
    _take(descriptors, order["passed"])
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["environment"])
    time.tzset()
    command = order["command"]
    if command[3:4] == [launcher.__file__]:
        _launched(command[4:7])
        command = command[7:]
    _show(command)
    sys.orig_argv = command
    if os.environ.get("PYTHONUNBUFFERED"):
        sys.stdout, sys.stderr = (
            io.TextIOWrapper(io.FileIO(place, "w", closefd=False), write_through=True) for place in (1, 2)
        )
    return command


def _take(descriptors: list[int], passed: list[int]) -> None:
    """At the numbers that the caller has them at."""
    wanted = [0, 1, 2, *passed]
    first_free = max(*wanted, *descriptors) + 1
    high = [os.dup2(each, first_free + place) for place, each in enumerate(descriptors)]
    for number, descriptor in zip(wanted, high, strict=True):
        os.dup2(descriptor, number)
    edges = sorted({*wanted, os.sysconf("SC_OPEN_MAX")})
    for low, high_edge in pairwise(edges):
        os.closerange(low + 1, high_edge)


def _launched(wishes: list[str]) -> None:
    """As the launcher, up to where it becomes the program."""
    sys.argv = [launcher.__file__, *wishes]
    launcher.prepare(*wishes)


def _show(command: list[str]) -> None:
    """In /proc, over the arguments that this process was started with."""
    start, end = map(int, Path("/proc/self/stat").read_text().rpartition(")")[2].split()[45:47])
    shown = b"\0".join(map(os.fsencode, command))
    memmove(start, shown[: end - start - 1].ljust(end - start, b"\0"), end - start)


def fork_a_server() -> socket.socket:
    """For a program that starts others: one more of this, forked before there is a second thread."""
    ours, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
    if os.fork() == 0:
        ours.close()
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for place in (0, 1):
            os.dup2(nothing, place)
        run_to_the_end(lambda: run(serve(theirs)))
    theirs.close()
    return ours


def run(command: list[str]) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if command[0] == CLI or command[2] in STARTERS:
        use(LoadedPrograms(fork_a_server()))
    if command[0] == CLI:
        sys.argv = command
        command_line()
        return
    sys.argv = command[2:]
    # Python would warn that it is imported already.
    sys.modules.pop(command[2], None)
    runpy.run_module(command[2], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    load_everything()
    run_to_the_end(lambda: run(serve(socket.socket(fileno=int(sys.argv[1])))))
