"""`Engine` over a host process that may die at any time: started again, watched, and honest about what was lost."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from worker.engine.errors import EngineDied, EngineError, EngineUnavailable
from worker.engine.process.front import EngineFront
from worker.engine.process.host_process import EngineHostProcess
from worker.engine.settings import EngineSettings
from worker.process.children.backoff import Backoff

logger = logging.getLogger(__name__)

_TICK_S = 0.25
_PROGRESS_EVERY_S = 10.0
_CLOSE_GRACE_S = 5.0
_FIRST_STARTS = 3


@dataclass(frozen=True, slots=True)
class ProcessTimes:
    """How long things may take, in seconds.

    watchdog_s: without a heartbeat, or without a step while requests are in the engine, before it is killed.
    start_s: from starting the process to the loaded engine.
    queue_s: how long a call waits for a restarting engine before it fails with EngineDied.
    """

    watchdog_s: float = 20.0
    start_s: float = 600.0
    queue_s: float = 60.0


class EngineProcess(EngineFront):
    """An engine in a child process.

    When the process dies, every call in flight fails with EngineDied, and the process is started again, with a
    growing delay while it dies without having served anything. Calls made meanwhile wait for it.
    """

    def __init__(self, settings: EngineSettings, times: ProcessTimes | None = None) -> None:
        self._settings = settings
        self._times = times or ProcessTimes()
        super().__init__(self._times.queue_s)
        self._current: EngineHostProcess | None = None
        self._fatal: EngineError | None = None
        self._starts = 0
        self._deaths = 0
        self._last_death_reason: str | None = None
        self._supervisor = threading.Thread(target=self._supervise, name="engine-supervisor", daemon=True)

    def start(self) -> None:
        """Start the process and wait until the engine takes requests.

        Raises StartError if the engine says that it cannot (no second try), EngineDied if the process ended
        three times before it was ready or did not get ready within `ProcessTimes.start_s`. The object is closed then.
        """
        begun_s = time.monotonic()
        self._supervisor.start()
        with self._changed:
            while self._info is None and self._fatal is None:
                waited_s = time.monotonic() - begun_s
                if waited_s >= self._times.start_s:
                    reason = self._last_death_reason or "it is still loading"
                    self._fatal = EngineDied(f"the engine was not ready after {waited_s:.0f} s: {reason}")
                    break
                self._changed.wait(min(_PROGRESS_EVERY_S, self._times.start_s - waited_s))
                if self._info is None and self._fatal is None:
                    logger.info("the engine is loading, %.0f s so far", time.monotonic() - begun_s)
            fatal = self._fatal
        if fatal is not None:
            self.close()
            raise fatal

    @property
    def pid(self) -> int | None:
        """Of the running host; None while there is none."""
        with self._changed:
            return self._current.pid if self._current else None

    @property
    def starts(self) -> int:
        """How many times a host was started."""
        with self._changed:
            return self._starts

    @property
    def deaths(self) -> int:
        """How many hosts ended without being asked to."""
        with self._changed:
            return self._deaths

    def open_line(self) -> tuple[int, socket.socket]:
        """A channel for another process's calls, and the number of the host's start. Raises `EngineUnavailable`."""
        with self._changed:
            if self._ready is None or self._current is None:
                raise EngineUnavailable("the engine is not ready")
            try:
                return self._starts, self._current.open_line()
            except OSError as error:
                raise EngineUnavailable(f"the engine has just ended: {error}") from error

    def close(self) -> None:
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        if self._supervisor.ident is not None:
            self._supervisor.join()
        super().close()

    def _refusal(self) -> EngineDied | None:
        if self._supervisor.ident is None:
            return EngineUnavailable("the engine has not been started")
        return super()._refusal()

    # ------------------------------------------------------------------------------------------ supervisor thread

    def _supervise(self) -> None:
        """Start, watch, note the end, wait, again. The thread lives as long as any host: see `EngineHostProcess`."""
        backoff = Backoff()
        try:
            while not self._closing:
                ended = self._run_once()
                if ended is None:
                    return
                self._wait_restarting(backoff.delay_s(served=ended.calls.served > 0))
        except Exception as error:  # the thread's end: callers would wait for an engine that no thread starts again
            logger.exception("the engine's supervisor failed")
            with self._changed:
                self._fatal = EngineDied(f"the engine's supervisor failed: {error!r}")
                self._closing = True
                self._changed.notify_all()
            self._fail_queued(lambda _: True, self._fatal)

    def _run_once(self) -> EngineHostProcess | None:
        """One host process from start to end. None when there shall be no further one."""
        current = EngineHostProcess(self._settings, self._times.watchdog_s, self._notify)
        started_s = time.monotonic()
        with self._changed:
            self._starts += 1
            self._current = current
        calls = current.calls
        try:
            while calls.end_reason is None and not self._closing:
                current.check()
                if calls.info is not None:
                    if self.admit(calls, calls.info):
                        logger.info("the engine is ready: process %d, start %d", current.pid, self._starts)
                elif time.monotonic() - started_s > self._times.start_s:
                    current.kill(f"not ready after {self._times.start_s:.0f} s")
                self._tick(lambda: calls.end_reason is not None or (self._ready is None and calls.info is not None))
        finally:
            self.lose(calls)
            with self._changed:
                self._current = None
            if calls.end_reason is None:
                current.close(_CLOSE_GRACE_S)
        return None if self._closing else self._after_end(current)

    def _after_end(self, ended: EngineHostProcess) -> EngineHostProcess | None:
        reason = ended.calls.end_reason
        with self._changed:
            self._deaths += 1
            self._last_death_reason = reason
            self._fatal = self._fatal or self._hopeless(ended)
            self._changed.notify_all()
        logger.error("the engine process %d ended: %s; its last words: %s", ended.pid, reason, ended.last_words())
        return None if self._fatal else ended

    def _hopeless(self, ended: EngineHostProcess) -> EngineError | None:
        """Why there shall be no further try. An engine that was ready once is restarted without limit."""
        if self._info is not None:
            return None
        if ended.calls.start_error is not None:
            return ended.calls.start_error
        if self._deaths < _FIRST_STARTS:
            return None
        words = ended.last_words().strip().rpartition("\n")[2]
        return EngineDied(
            f"the engine ended {self._deaths} times before it was ready: {ended.calls.end_reason}: {words}"
        )

    def _wait_restarting(self, delay_s: float) -> None:
        until_s = time.monotonic() + delay_s
        while not self._closing and time.monotonic() < until_s:
            self._tick(lambda: False)

    def _tick(self, is_due: Callable[[], bool]) -> None:
        """Sleep a little, less if something happens; then fail the calls that have waited too long."""
        with self._changed:
            self._changed.wait_for(lambda: self._closing or is_due(), _TICK_S)
        self.fail_late(str(self._last_death_reason))
