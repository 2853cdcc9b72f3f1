"""Failures as one line on standard error and an exit status. RHAPSODE_DEBUG=1 shows tracebacks.

0 success, 1 failure, 2 wrong usage, 130 Ctrl-C, 143 SIGTERM.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import NoReturn

import typer

from rhapsode.cli.visible import visible
from rhapsode.errors import ApiError, RhapsodeError
from rhapsode.stack.errors import StackError
from rhapsode.stack.layout import DataDir, default_data_dir

FAILED = 1
MISUSED = 2
INTERRUPTED = 130
TERMINATED = 143


class Misuse(Exception):
    """Wrong usage. The message says why."""


class Terminated(KeyboardInterrupt):
    """SIGTERM, handled like Ctrl-C."""


class HungUp(Terminated):
    """SIGHUP: the terminal was closed, or the connection to it was lost."""


@contextmanager
def failures_in_one_line() -> Generator[None]:
    """Ends the process with the exit status of the block's exception."""
    try:
        yield
    except Misuse as error:
        _exit(str(error), MISUSED)
    except ApiError as error:
        _exit(f"{error}; see {error.page}" if error.page else str(error), FAILED)
    except StackError as error:
        _exit(str(error), error.exit_status)
    except RhapsodeError as error:
        _exit(str(error), FAILED)
    except OSError as error:
        if _is_debugging():
            raise
        if error.filename is None:
            _leave_standard_output()
        _exit(f"{error.filename or 'standard output'}: {error.strerror or error}", FAILED)
    except Exception as error:  # the outermost loop of the command line
        if _is_debugging():
            raise
        _exit(f"unexpected {type(error).__name__}: {error} ({_note_crash()})", FAILED)


@contextmanager
def terminated_like_interrupted() -> Generator[None]:
    """SIGTERM raises `Terminated`, and SIGHUP `HungUp`, in the main thread while this is open."""

    def raise_terminated(signum: int, frame: FrameType | None) -> NoReturn:
        raise HungUp if signum == signal.SIGHUP else Terminated

    before = {signum: signal.signal(signum, raise_terminated) for signum in termination_signals()}
    try:
        yield
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)


@contextmanager
def interruptible() -> Generator[None]:
    """Ctrl-C, SIGTERM and SIGHUP end the command with their exit status."""
    with terminated_like_interrupted():
        try:
            yield
        except KeyboardInterrupt as interrupt:
            raise typer.Exit(status_of(interrupt)) from interrupt


def termination_signals() -> tuple[signal.Signals, ...]:
    """SIGTERM, and SIGHUP unless `nohup` ignores it."""
    hangs_up = signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN
    return (signal.SIGTERM, signal.SIGHUP) if hangs_up else (signal.SIGTERM,)


def status_of(interrupt: KeyboardInterrupt) -> int:
    return TERMINATED if isinstance(interrupt, Terminated) else INTERRUPTED


def _leave_standard_output() -> None:
    """Redirect standard output, which failed: the interpreter flushes it again at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _exit(sentence: str, status: int) -> NoReturn:
    sys.stderr.write(f"rhapsode: {visible(' '.join(sentence.split()))}\n")
    sys.exit(status)


def _note_crash() -> str:
    """Write the traceback into the log. Returns its path and how to see it."""
    # Read the environment directly: the settings may be invalid.
    given = os.environ.get("RHAPSODE_DATA_DIR")
    data_dir = DataDir(Path(given).absolute() if given else default_data_dir(os.environ))
    log = data_dir.logs / "cli.log"
    try:
        data_dir.create()
        with log.open("a") as file:
            file.write(f"{datetime.now(UTC).isoformat()} {sys.argv}\n{traceback.format_exc()}\n")
    except OSError as error:
        return f"no log could be written: {error}; RHAPSODE_DEBUG=1 shows the traceback"
    return f"traceback in {log}, or with RHAPSODE_DEBUG=1"


def _is_debugging() -> bool:
    return os.environ.get("RHAPSODE_DEBUG", "") not in ("", "0", "false")
