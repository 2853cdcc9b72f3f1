"""Processes of Rhapsode that tests start, as forks of one that has loaded their modules already.

A worker of Celery takes 1.2 s of a core to import what it needs, the API 1.9 s, and the tests start hundreds of them.
While this is in use, `subprocess.Popen` of such a program asks a loaded process (`tests/loaded_server.py`) for a fork:
a child of the caller, with the arguments, environment, folder and descriptors that Popen was given. Every other
program starts as ever. So does one at a terminal, one with other settings for Python itself, and all outside Linux.

Starts from nothing are tested in tests/readmes, in tests/rhapsode/stack/test_up.py by `run_cli`, and, for several APIs,
in tests/rhapsode/stack/test_several_processes.py.
"""

from __future__ import annotations

import atexit
import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rhapsode.stack.supervision import launcher

PYTHON = sys.executable
"""At first: a test may have another."""
CLI = str(Path(PYTHON).parent / "rhapsode")
STARTERS = frozenset({"worker.process.celery_command"})
"""Programs that start others of `MODULES`."""
MODULES = STARTERS | {
    *("api.server", "worker.janitor", "worker.decoder", "worker.engine.decoder.process"),
    *("worker.engine.process.host", "worker.lifecycle.live.process", "worker.speech.postprocessing.process"),
    *("worker.engine.description", "worker.speech.judging", "rhapsode.bench.server.load"),
    *("rhapsode.bench.engine.measuring", "tests.rhapsode.bench.engine.measuring_briefly"),
    *("tests.worker.items.batch_process", "tests.api.live.speaking_worker"),
}
"""Not `api.one_of_several`: what it measures depends on its environment at import."""
SMALL = "storage.database.embedded_valkey"
"""It loads little: no process is loaded for it, but one that is there is asked."""

SERVER = Path(__file__).parent / "loaded_server.py"
ROOM = 8192
"""Bytes for a command as /proc shows it."""

FORK_EXEC = "_fork_exec"
"""What Popen calls, by its name in `subprocess`."""

_PR_SET_CHILD_SUBREAPER = 36
_NOTHING_ASKED = (-1, None, None, None, -1, None)
"""Of group, user and mask, and nothing to call between fork and exec."""

_FOLLOWED = frozenset({"PYTHONUNBUFFERED", "PYTHONSAFEPATH"})

_ISOLATED = (PYTHON, "-I", "-S", launcher.__file__)

_fork_exec: Callable[..., int] = vars(subprocess)[FORK_EXEC]


class LoadedPrograms:
    """Any thread may call. control: to the process that has them loaded; none: it starts with the first program."""

    def __init__(self, control: socket.socket | None = None) -> None:
        self._control = control
        self._lock = threading.Lock()

    def fork_exec(self, args: Sequence[str | bytes], *others: Any) -> int:
        """As Python's own, which Popen calls."""
        command = [os.fsdecode(each) for each in args]
        _, _, kept, folder, environment, stdin, _, _, stdout, _, stderr, _, failure, _, new_session, *_ = others
        standard = [place if given == -1 else given for place, given in enumerate((stdin, stdout, stderr))]
        variables = dict(os.environ) if environment is None else dict(map(_variable, environment))
        is_usual = others[15:21] == _NOTHING_ASKED and not any(map(os.isatty, standard))
        if not (is_usual and self._has_loaded(command) and _of_python(variables) == _of_python(os.environ)):
            return _fork_exec(args, *others)
        passed = [each for each in kept if each != failure]
        order = {
            "command": command,
            "environment": variables,
            "folder": os.getcwd() if folder is None else os.fspath(folder),
            "new_session": bool(new_session),
            "ignores_hangup": signal.getsignal(signal.SIGHUP) is signal.SIG_IGN,
            "parent": os.getpid(),
            "passed": passed,
        }
        return self._ask(json.dumps(order).encode(), [*standard, *passed])

    def _has_loaded(self, command: Sequence[str]) -> bool:
        program = list(command[7:] if tuple(command[:4]) == _ISOLATED else command)
        if program[0] == CLI:
            return program[1:2] in (["up"], ["narrate"], ["bench"])
        if len(program) < 3 or program[:2] != [PYTHON, "-m"]:
            return False
        return program[2] in MODULES or (program[2] == SMALL and self._control is not None)

    def _ask(self, order: bytes, descriptors: list[int]) -> int:
        with self._lock:
            if self._control is None:
                self._control = _started()
            # The fork of a fork whose parent ends is ours.
            with _adopting():
                socket.send_fds(self._control, [order], descriptors)
                return int(self._control.recv(32))


def _variable(entry: bytes) -> tuple[str, str]:
    name, _, value = os.fsdecode(entry).partition("=")
    return name, value


def _of_python(environment: Mapping[str, str]) -> dict[str, str]:
    """What Python itself reads when it starts, such as where a `sitecustomize` lies."""
    return {name: value for name, value in environment.items() if name.startswith("PYTHON") and name not in _FOLLOWED}


def _started() -> socket.socket:
    ours, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
    command = [sys.executable, "-P", str(SERVER), str(theirs.fileno()), "-" * ROOM]
    devnull = subprocess.DEVNULL
    # It ends with the connection. Without a status, Popen would warn that its process still runs.
    process = subprocess.Popen(
        command,
        stdin=devnull,
        stdout=devnull,
        pass_fds=[theirs.fileno()],
        start_new_session=True,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
    )
    process.returncode = 0
    theirs.close()
    atexit.register(ours.close)
    return ours


@contextmanager
def _adopting() -> Generator[None]:
    _adopt(1)
    try:
        yield
    finally:
        _adopt(0)


def _adopt(wish: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, wish, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER) failed")


def use(programs: LoadedPrograms) -> None:
    if sys.platform == "linux":
        setattr(subprocess, FORK_EXEC, programs.fork_exec)
