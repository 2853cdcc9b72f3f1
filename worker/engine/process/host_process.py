"""One run of the engine host, seen from the worker: the child process, its channel, and its end."""

from __future__ import annotations

import logging
import socket
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import IO

from worker.engine.interface import EngineStats
from worker.engine.process.calls import EngineCalls
from worker.engine.process.protocol import StartHost
from worker.engine.settings import EngineSettings
from worker.process.children.program import reap, start_program

logger = logging.getLogger(__name__)

_LAST_WORDS = 20


class EngineHostProcess:
    """A host process from its start to its end. calls: the worker's, in this run.

    Construct it in a thread that outlives it: on Linux the kernel kills the host when the starting thread ends.
    `on_change` is called, from threads of this object, whenever a property of `calls` has changed.
    """

    def __init__(self, settings: EngineSettings, watchdog_s: float, on_change: Callable[[], None]) -> None:
        self._last_words: deque[str] = deque(maxlen=_LAST_WORDS)
        self._kill_reason: str | None = None
        self._watchdog_s = watchdog_s
        self._watchdog: Watchdog | None = None
        self._watched: EngineStats | None = None
        self._process, (channel, door) = start_program(
            "worker.engine.process.host", num_channels=2, stderr=subprocess.PIPE
        )
        self._door = door.stream
        assert self._process.stderr is not None  # noqa: S101  (asked for as a pipe)
        self._log = threading.Thread(
            target=self._log_all, args=(self._process.stderr,), name="engine-stderr", daemon=True
        )
        self._log.start()
        self.calls = EngineCalls(channel, f"the engine process {self.pid}", on_change, self._end_reason)
        self.calls.start(StartHost(settings))

    @property
    def pid(self) -> int:
        return self._process.pid

    def open_line(self) -> socket.socket:
        """A new channel for another process's `EngineCalls`. Raises `OSError` if the host is gone."""
        ours, its_end = socket.socketpair()
        try:
            with its_end:
                socket.send_fds(self._door, [b"\0"], [its_end.fileno()])
        except OSError:
            ours.close()
            raise
        return ours

    def check(self) -> None:
        """Kill the host if it hangs, notice it if it is gone. To be called a few times per second."""
        verdict = self._verdict(time.monotonic())
        if verdict is not None:
            self.kill(verdict)
        elif self._process.poll() is not None:
            # A grandchild may hold the socket open; the reader would wait for it.
            self.calls.hang_up()

    def kill(self, reason: str) -> None:
        """SIGKILL. The end comes through the reader, as any other end."""
        if self._kill_reason is None:
            self._kill_reason = reason
        self._process.kill()
        self.calls.hang_up()

    def close(self, grace_s: float) -> None:
        """Hang up, wait until the host has gone, kill it if it does not."""
        if self._kill_reason is None:
            self._kill_reason = "the engine was closed"
        self.calls.hang_up()
        try:
            self._process.wait(grace_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self.calls.join(grace_s)
        self._log.join(grace_s)

    def last_words(self) -> str:
        """The end of what the host wrote to its standard error."""
        return "\n".join(self._last_words)

    def _verdict(self, now_s: float) -> str | None:
        if self._watchdog is None:
            if self.calls.info is None:
                return None
            self._watchdog = Watchdog(self._watchdog_s, now_s)
        stats = self.calls.stats
        if stats is not None and stats is not self._watched:
            self._watched = stats
            self._watchdog.heard(stats, now_s)
        return self._watchdog.verdict(now_s)

    def _log_all(self, stderr: IO[bytes]) -> None:
        with stderr:
            for line in stderr:
                text = line.decode(errors="replace").rstrip()
                self._last_words.append(text)
                logger.info("engine host %d: %s", self.pid, text)

    def _end_reason(self, complaint: str) -> str:
        """In the thread that reads the channel, once it has ended."""
        self._door.close()
        status = reap(self._process)
        return self._kill_reason or ", ".join(part for part in (status, complaint) if part)


class Watchdog:
    """Judges one host process by its heartbeats. All times are seconds on one monotonic clock."""

    def __init__(self, patience_s: float, now_s: float) -> None:
        self._patience_s = patience_s
        self._progress = -1
        self._work = 0
        self._heard_s = self._progress_s = self._looked_s = now_s

    def heard(self, stats: EngineStats, now_s: float) -> None:
        self._heard_s = now_s
        # While all that run wait for their text, so may those that wait for one of their slots.
        speaking = stats.active - stats.standing
        self._work = speaking + (0 if stats.standing and not speaking else stats.waiting)
        if self._work == 0 or stats.progress != self._progress:
            self._progress_s = now_s
        self._progress = stats.progress

    def verdict(self, now_s: float) -> str | None:
        """Why the engine should be killed, or None. To be asked several times per patience."""
        if now_s - self._looked_s > self._patience_s / 2:
            # We were stopped or starved ourselves, and the heartbeats of that time still lie in the socket.
            self._heard_s = self._progress_s = now_s
        self._looked_s = now_s
        if now_s - self._heard_s > self._patience_s:
            return f"no heartbeat for {now_s - self._heard_s:.1f} s"
        if self._work and now_s - self._progress_s > self._patience_s:
            return f"no step for {now_s - self._progress_s:.1f} s with {self._work} requests in the engine"
        return None
