"""The fork server of one kind of reading, as its callers see it: a child for each file that is to be read."""

from __future__ import annotations

import atexit
import logging
import os
import signal
import socket
import tempfile
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Self

from storage.runtime.fork_server.protocol import ChildOrder, ConnectionEnded, receive_status
from storage.runtime.fork_server.server_process import ForkServerBroken, ForkServerProcess, start, tail

logger = logging.getLogger(__name__)

_LOOK_S = 0.25
_KILL_PATIENCE_S = 5.0
# What a fault in memory looks like. A limit that is reached is SIGXCPU or SIGXFSZ, and SIGKILL comes from outside.
_CRASHES = frozenset({signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGABRT, signal.SIGFPE, signal.SIGTRAP})


@dataclass(frozen=True, slots=True)
class ChildTask:
    """What a child shall do. file: on disk; its standard input, from the beginning."""

    arguments: tuple[str, ...]
    file: IO[bytes]
    max_answer_bytes: int
    patience_s: float
    check: Callable[[], None] = lambda: None
    """Called some times a second, and may raise to give up."""


@dataclass(frozen=True, slots=True)
class ChildEnd:
    """How a child ended: 0 if its task came to an end, 1 with complaints if not, negative for a signal.

    answer: what it wrote to standard output, up to the most that is wanted. complaints: the end of its standard error.
    """

    status: int
    answer: bytes
    complaints: str


class ForkServer:
    """Started with the first file, and again after it died. Any thread may call any method.

    command: a program that calls `server.serve`.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._command = tuple(command)
        self._lock = threading.Lock()
        self._current: ForkServerProcess | None = None
        self._leaving: list[ForkServerProcess] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int | None:
        """The process id while one is up."""
        with self._lock:
            return self._current.pid if self._current is not None and self._current.is_up else None

    def run(self, reading: ChildTask) -> ChildEnd:
        """Let a child read the file. It has ended when this does, however this ends.

        Raises `TimeoutError` when the patience is over, `ForkServerBroken`, and what `check` raises.
        """
        try:
            return self._run(reading)
        except _ForkServerDied:
            # Killed from outside, for its memory for instance: the file deserves another.
            logger.warning("a fork server died", extra={"program": self._command[-1]})
        try:
            return self._run(reading)
        except _ForkServerDied as error:
            raise ForkServerBroken(f"{self._command[-1]} died twice while it was needed: {error}") from error

    def close(self) -> None:
        """End the fork server with every child. It may be used again."""
        atexit.unregister(self.close)
        with self._lock:
            all_up = [*self._leaving, *([self._current] if self._current is not None else [])]
            self._leaving, self._current = [], None
        for process in all_up:
            process.kill()
            process.end()

    def _run(self, reading: ChildTask) -> ChildEnd:
        """Raises `_ForkServerDied` and as `run` does."""
        # Files, not pipes: a child gone wrong can neither block this process nor fill its memory. New ones for every
        # child: one that is being killed may still write.
        with tempfile.TemporaryFile() as answer, tempfile.TemporaryFile() as complaints:
            status = self._status(reading, answer, complaints)
            # A buffer of the most that is wanted would cost more than most answers.
            size = min(answer.seek(0, os.SEEK_END), reading.max_answer_bytes)
            answer.seek(0)
            return ChildEnd(status, answer.read(size), tail(complaints))

    def _status(self, reading: ChildTask, answer: IO[bytes], complaints: IO[bytes]) -> int:
        # The descriptor itself: file.seek may be content with moving inside its own buffer, which no child shares.
        reading.file.flush()
        os.lseek(reading.file.fileno(), 0, os.SEEK_SET)
        channel, theirs = socket.socketpair()
        descriptors = (each.fileno() for each in (reading.file, answer, complaints, theirs))
        with channel:
            with theirs:
                process = self._begin(ChildOrder(reading.arguments, *descriptors))
            try:
                status = _wait(channel, reading)
            except ConnectionEnded as error:
                raise self._died(process) from error
            except BaseException:
                self._kill_child(process, channel)
                raise
        if -status in _CRASHES:
            self._replace(process)
        return status

    def _begin(self, order: ChildOrder) -> ForkServerProcess:
        """Start a child; returns the fork server that has it."""
        with self._lock:
            process = self._current = self._up()
            try:
                process.send(order)
            except ConnectionEnded as error:
                self._current = None
                raise _ForkServerDied(process.end()) from error
        return process

    def _up(self) -> ForkServerProcess:
        """One that runs, as far as can be known. Under the lock: who comes meanwhile wants the same one."""
        ended = [each for each in self._leaving if not each.is_up]
        if self._current is not None and not self._current.is_up:
            ended.append(self._current)
            self._current = None
        for process in ended:
            process.end()
        self._leaving = [each for each in self._leaving if each not in ended]
        if self._current is None:
            atexit.register(self.close)
            return start(self._command)
        return self._current

    def _kill_child(self, process: ForkServerProcess, channel: socket.socket) -> None:
        """And wait for its end. A fork server that does not kill it does nothing any more."""
        with suppress(OSError):  # the fork server is gone, and its child with it
            channel.shutdown(socket.SHUT_WR)
        channel.settimeout(_KILL_PATIENCE_S)
        try:
            receive_status(channel)
        except (TimeoutError, ConnectionEnded):
            process.kill()
            self._died(process)

    def _died(self, process: ForkServerProcess) -> _ForkServerDied:
        with self._lock:
            if self._current is process:
                self._current = None
        return _ForkServerDied(process.end())

    def _replace(self, process: ForkServerProcess) -> None:
        """What it has under way comes to its end; what comes next is another's."""
        with self._lock:
            if self._current is not process:
                return
            self._current = None
            self._leaving.append(process)
            process.leave()
        logger.warning("a child crashed, its fork server is replaced", extra={"program": self._command[-1]})


class _ForkServerDied(Exception):
    """The message is what it complained of."""


def _wait(channel: socket.socket, reading: ChildTask) -> int:
    channel.settimeout(_LOOK_S)
    for _ in range(round(reading.patience_s / _LOOK_S)):
        try:
            return receive_status(channel)
        except TimeoutError:
            reading.check()
    raise TimeoutError
