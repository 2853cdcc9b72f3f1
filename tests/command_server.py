"""The command line, loaded once and forked for each run: `tests.command_line` asks, and says why.

A program. By the socket whose number it is given come orders: a line to the caller, and what the run has for standard
input, output and error. It ends with that socket.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import signal
import socket
import sys
import threading
from collections.abc import Callable

import rhapsode
from rhapsode.__main__ import main

NOT_AHEAD = frozenset({"rhapsode.webhook_fastapi", "rhapsode.cli.local.pulling"})
"""The first leans on packages that need not be here. The other loads huggingface_hub, which reads its environment."""


def load_everything() -> None:
    """What commands import when they run."""
    for module in pkgutil.walk_packages(rhapsode.__path__, "rhapsode."):
        if module.name not in NOT_AHEAD:
            importlib.import_module(module.name)
    gc.freeze()


def serve(control: socket.socket) -> None:
    """Returns in the process of a run, ready to be the command line."""
    # Who waits for a run is never waited for.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        _, descriptors, _, _ = socket.recv_fds(control, 1, 4)
        if not descriptors:
            sys.exit()
        if os.fork() == 0:
            control.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            return run_ordered(*descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


def run_ordered(line: int, *standard: int) -> None:
    """Returns in the process of the run; the one that waits for it tells its number, then its status."""
    with socket.socket(fileno=line) as caller, caller.makefile("rw") as words:
        order = json.loads(words.readline())
        run = os.fork()
        if run:
            # A reader of what the run writes reads until no process holds the other end.
            for descriptor in standard:
                os.close(descriptor)
            print(run, file=words, flush=True)
            _, ended = os.waitpid(run, 0)
            print(os.waitstatus_to_exitcode(ended), file=words, flush=True)
            os._exit(0)
    for place, descriptor in enumerate(standard):
        os.dup2(descriptor, place)
        os.close(descriptor)
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["environment"])
    sys.argv = order["command"]


def run_to_the_end(program: Callable[[], object]) -> None:
    """The process ends with the program as Python ends one, but what it has loaded is not taken apart.

    In a fork that copies most of its memory, which takes a quarter of a second of a core. What the program raises,
    except for SystemExit, is raised.
    """
    status = 0
    try:
        program()
    except SystemExit as end:
        if isinstance(end.code, str):
            sys.stderr.write(f"{end.code}\n")
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    vars(threading)["_shutdown"]()
    vars(atexit)["_run_exitfuncs"]()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        # Python has a status for it.
        sys.exit(status)
    os._exit(status & 0xFF)


if __name__ == "__main__":
    load_everything()
    serve(socket.socket(fileno=int(sys.argv[1])))
    run_to_the_end(main)
