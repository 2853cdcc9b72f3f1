"""A process beside the worker's, with a line to each engine host: how the worker keeps it, and what it does first."""

from __future__ import annotations

import logging
import socket
import subprocess
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, TypeVar

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from storage.runtime.config.certificates import check_certificates
from storage.runtime.config.failpoints import configure as configure_failpoints
from storage.runtime.observability.logs import configure_process_logging
from storage.runtime.observability.metrics import added_up
from storage.runtime.observability.tracing import configure_tracing
from storage.runtime.watched import watched_thread
from worker.engine.errors import EngineUnavailable
from worker.engine.interface import EngineInfo
from worker.engine.process.engine_process import EngineProcess
from worker.engine.process.front import EngineLine
from worker.process.children.backoff import Backoff
from worker.process.children.channel import Channel
from worker.process.children.program import begin_program, end_with, reap, start_program
from worker.settings import WorkerSettings

logger = logging.getLogger(__name__)

HAND_OVER_S = 10.0
_LOOK_S = 0.1


@dataclass(frozen=True, slots=True)
class StartBeside:
    """The first message. name: of the process, as others know it."""

    settings: WorkerSettings
    name: str
    info: EngineInfo


@dataclass(frozen=True, slots=True)
class EndBeside:
    """The last one. What the process does may take the grace to end."""

    grace_s: float


@dataclass(frozen=True, slots=True)
class CannotStart:
    """The only message of a process that ends with it."""

    reason: str


class Child(ABC):
    """One run of the process. on_change: called by threads of this object. has_begun: whether it has served.

    failure: why it could not start.
    """

    def __init__(self, module: str, release: bytes, start: StartBeside, on_change: Callable[[], None]) -> None:
        self._release = release
        self._on_change = on_change
        self.has_begun = self.has_ended = False
        self.failure: str | None = None
        self._engine_start = 0
        self._sending = threading.Lock()
        self._process, (self._channel, door) = start_program(module, num_channels=2)
        self._door = door.stream
        self._reader = threading.Thread(target=self._read, name="child-reader", daemon=True)
        self._reader.start()
        self.send(start)

    def send(self, message: object) -> None:
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

    def end(self, grace_s: float) -> None:
        """It is killed where it has not ended some seconds after the grace."""
        self.send(EndBeside(grace_s))
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(grace_s + HAND_OVER_S)
        self.reap()

    def reap(self) -> str:
        """Returns how it ended."""
        status = reap(self._process)
        self._reader.join()
        self._door.close()
        self._channel.close()
        return self.failure or status

    @abstractmethod
    def _take(self, message: object) -> None:
        """Of the process, in the thread that reads."""

    def _read(self) -> None:
        try:
            self._channel.meet(self._release)
            while True:
                match self._channel.receive():
                    case CannotStart(reason):
                        self.failure = reason
                    case message:
                        self._take(message)
        except OSError as error:
            logger.info("%s says no more: %s", type(self).__name__, error)
        finally:
            self.has_ended = True
            self._on_change()


C = TypeVar("C", bound=Child)


class Kept(ABC, Generic[C]):
    """A process that is started again when it ends. child: None while it is started again."""

    def __init__(self, name: str, start: StartBeside, engine: EngineProcess) -> None:
        self._name = name
        self._start = start
        self._engine = engine
        self._changed = threading.Condition()
        self._closing = threading.Event()
        self._grace_s = 0.0
        self._thread = watched_thread(name, self._run, self._closing)
        self.child: C | None = None

    def start(self) -> None:
        self._thread.start()

    def begin_close(self, grace_s: float) -> None:
        """What it does may take the grace to end. The first call counts."""
        if not self._closing.is_set():
            self._grace_s = grace_s
            self._closing.set()

    def close(self, grace_s: float = 0.0) -> None:
        """Returns when it has ended. Idempotent."""
        self.begin_close(grace_s)
        if self._thread.is_alive():
            self._thread.join()

    @abstractmethod
    def _begin(self) -> C: ...

    def _lost(self, child: C) -> None:
        """It ended and was not asked to."""

    # ------------------------------------------------------------------------------------------ its thread

    def _run(self) -> None:
        """The kernel kills the process when this thread ends."""
        backoff = Backoff()
        while not self._closing.is_set():
            child = self.child = self._begin()
            while not child.has_ended and not self._closing.wait(_LOOK_S):
                child.connect(self._engine)
            if self._closing.is_set():
                child.end(self._grace_s)
                return
            self._lost(child)
            self._notify()
            logger.error("the %s ended: %s", self._name, child.reap())
            self._closing.wait(backoff.delay_s(served=child.has_begun))

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()


class Counted(Collector):
    """What several processes measure. Of one that ended, what it counted stays true. Any thread may call."""

    def __init__(self) -> None:
        self._keeping = threading.Lock()
        self._ended: Sequence[Metric] = ()

    def keep_counts(self, metrics: Sequence[Metric]) -> None:
        """Of a process that ended."""
        with self._keeping:
            self._ended = added_up((*self._ended, *(each for each in metrics if each.type != "gauge")))

    def collect(self) -> Iterable[Metric]:
        return (*self._ended, *self._measured())

    @abstractmethod
    def _measured(self) -> Iterable[Metric]:
        """By those that run."""


class SessionBeside(ABC):
    """The other end: the channel to the worker, and the line to the engine. Raises `SettingsError`."""

    def __init__(self, channel: Channel, door: socket.socket, start: StartBeside, role: str) -> None:
        settings = start.settings
        configure_process_logging(settings, role=role, worker=start.name)
        configure_failpoints(settings.failpoint)
        check_certificates(settings)
        configure_tracing(settings, role)
        self._channel = channel
        self._door = door
        self._sending = threading.Lock()
        self._engine = EngineLine(start.info)
        threading.Thread(target=self._take_lines, name="engine-lines", daemon=True).start()

    @abstractmethod
    def serve(self) -> int:
        """Until the worker is gone, or says that it shall end. Returns the exit status."""

    def _take_lines(self) -> None:
        """Until the worker is gone."""
        while True:
            _, ends, _, _ = socket.recv_fds(self._door, 1, 1)
            if not ends:
                return
            self._engine.use(socket.socket(fileno=ends[0]))

    def _send(self, message: object) -> None:
        with self._sending:
            self._channel.send(message)


def serve_beside(
    release: bytes,
    session: Callable[[Channel, socket.socket, StartBeside], SessionBeside],
    refused: tuple[type[Exception], ...],
) -> None:
    """The whole program. refused: what the session raises where it cannot start."""
    channel, door = begin_program(release)
    start = channel.receive()
    assert isinstance(start, StartBeside)  # noqa: S101  (our own worker wrote it)
    try:
        begun = session(channel, door.stream, start)
    except refused as error:
        channel.send(CannotStart(str(error)))
        return
    end_with(begun.serve)
