"""The live server's process, seen from the worker: started again when it ends, with a line to each engine host."""

from __future__ import annotations

import logging
import socket
import subprocess
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import suppress

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from storage.live.address import LiveAddress
from storage.runtime.config.settings import SettingsError
from storage.runtime.observability.metrics import REGISTRY
from storage.runtime.watched import watched_thread
from worker.engine.errors import EngineUnavailable
from worker.engine.process.engine_process import EngineProcess
from worker.lifecycle.live.protocol import (
    RELEASE,
    EndLive,
    IsIdle,
    LiveCannotStart,
    LiveState,
    RefuseIfIdle,
    RefuseNew,
    StartLive,
    ToLive,
)
from worker.process.children.backoff import Backoff
from worker.process.children.channel import Channel
from worker.process.children.program import reap, start_program

logger = logging.getLogger(__name__)

START_S = 60.0
ANSWER_S = 10.0
HAND_OVER_S = 10.0
_LOOK_S = 0.1


class LiveProcess(Collector):
    """The interface of `LiveServer`. Any thread may ask."""

    def __init__(self, start: StartLive, engine: EngineProcess) -> None:
        self._start = start
        self._engine = engine
        self._changed = threading.Condition()
        self._child: _Child | None = None
        self._failure: str | None = None
        self._is_refusing = False
        self._grace_s = 0.0
        self._closing = threading.Event()
        self._thread = watched_thread("live-process", self._run, self._closing)

    def start(self) -> None:
        """Returns once it serves. Raises `SettingsError` where it cannot."""
        self._thread.start()
        with self._changed:
            self._changed.wait_for(lambda: self._state is not None or self._failure is not None, START_S)
            failure = self._failure or (None if self._state else f"it was not ready after {START_S:.0f} s")
        if failure is not None:
            self.close()
            raise SettingsError(f"live speech: {failure}")
        REGISTRY.register(self)

    @property
    def num_places(self) -> int:
        return self._start.info.live_slots

    @property
    def num_streams(self) -> int:
        return state.address.streams if (state := self._state) else 0

    @property
    def longest_pause_s(self) -> float:
        return state.longest_pause_s if (state := self._state) else 0.0

    def address(self) -> LiveAddress | None:
        """None while the process is started again."""
        return state.address if (state := self._state) else None

    def collect(self) -> Iterable[Metric]:
        return state.metrics if (state := self._state) else ()

    def refuse_new(self, *, is_leaving: bool) -> None:
        self._is_refusing = is_leaving
        if child := self._child:
            child.send(RefuseNew(is_leaving))

    def refuse_if_idle(self) -> bool:
        """True while the process restarts: it has no streams then, and refuses new ones from its start."""
        is_idle = child.is_idle(ANSWER_S) if (child := self._child) else True
        self._is_refusing = self._is_refusing or is_idle
        return is_idle

    def close(self, grace_s: float = 0.0) -> None:
        """Streams end within the grace, or are handed over. Idempotent."""
        with suppress(KeyError):
            REGISTRY.unregister(self)
        self._grace_s = grace_s
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join()

    # ------------------------------------------------------------------------------------------ its thread

    @property
    def _state(self) -> LiveState | None:
        return child.state if (child := self._child) else None

    def _run(self) -> None:
        """The kernel kills the process when this thread ends."""
        backoff = Backoff()
        while not self._closing.is_set():
            child = _Child(self._start, self._notify)
            with self._changed:
                self._child = child
            if self._is_refusing:
                child.send(RefuseNew(is_leaving=True))
            while not child.has_ended and not self._closing.wait(_LOOK_S):
                child.connect(self._engine)
            if self._closing.is_set():
                child.end(self._grace_s)
                return
            served = child.state is not None
            with self._changed:
                self._child, self._failure = None, child.failure
                self._changed.notify_all()
            logger.error("the live process ended: %s", child.reap())
            self._closing.wait(backoff.delay_s(served=served))

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()


class _Child:
    """One run of the process."""

    def __init__(self, start: StartLive, on_change: Callable[[], None]) -> None:
        self._on_change = on_change
        self.state: LiveState | None = None
        self.failure: str | None = None
        self.has_ended = False
        self._engine_start = 0
        self._sending = threading.Lock()
        self._idle: Future[bool] | None = None
        stream, child_end = socket.socketpair()
        self._door, door_end = socket.socketpair()
        self._channel = Channel(stream)
        with child_end, door_end:
            self._process = start_program("worker.lifecycle.live.process", [child_end, door_end])
        self._reader = threading.Thread(target=self._read, name="live-reader", daemon=True)
        self._reader.start()
        self.send(start)

    def send(self, message: ToLive) -> None:
        """Nothing if it is gone."""
        with suppress(OSError), self._sending:
            self._channel.send(message)

    def connect(self, engine: EngineProcess) -> None:
        """A line to the engine's host, once for each host."""
        if engine.starts == self._engine_start:
            return
        with suppress(EngineUnavailable, OSError):
            self._engine_start, line = engine.open_line()
            with line:
                socket.send_fds(self._door, [b"\0"], [line.fileno()])

    def is_idle(self, patience_s: float) -> bool:
        """It has no streams, and takes none any more. False where it does not say so in time."""
        self._idle = Future()
        self.send(RefuseIfIdle())
        try:
            return self._idle.result(patience_s)
        except TimeoutError:
            return self.has_ended

    def end(self, grace_s: float) -> None:
        self.send(EndLive(grace_s))
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(grace_s + HAND_OVER_S)
        self.reap()

    def reap(self) -> str:
        status = reap(self._process)
        self._reader.join()
        self._door.close()
        self._channel.close()
        return self.failure or status

    def _read(self) -> None:
        try:
            self._channel.meet(RELEASE)
            while True:
                self._take(self._channel.receive())
        except OSError as error:
            logger.info("the live process says no more: %s", error)
        finally:
            self.has_ended = True
            self._on_change()

    def _take(self, message: object) -> None:
        match message:
            case LiveState() as state:
                self.state = state
                self._on_change()
            case LiveCannotStart(reason):
                self.failure = reason
            case IsIdle(is_so):
                if self._idle is not None and not self._idle.done():
                    self._idle.set_result(is_so)
            case _:
                logger.error("the live process says %s", type(message).__name__)
