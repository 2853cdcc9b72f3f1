"""The processes of the live server, seen from the worker. They share its places."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import suppress

from prometheus_client.core import Metric

from storage.live.address import LiveAddress
from storage.runtime.config.settings import SettingsError
from storage.runtime.observability.metrics import REGISTRY
from worker.engine.process.engine_process import EngineProcess
from worker.lifecycle.beside import Child, Counted, Kept, StartBeside
from worker.lifecycle.live.protocol import RELEASE, IsIdle, LiveState, RefuseIfIdle, RefuseNew
from worker.settings import WorkerSettings

logger = logging.getLogger(__name__)

START_S = 60.0
ANSWER_S = 10.0


class LiveProcesses(Counted):
    """The interface of `LiveServer`. Any thread may ask."""

    def __init__(self, settings: WorkerSettings, worker: str, engine: EngineProcess) -> None:
        super().__init__()
        self.num_places = engine.info.live_slots
        self._is_refusing = False
        number = min(settings.num_live_processes, self.num_places)
        self._processes = [
            _LiveProcess(_start_of(settings, worker, engine, each, number), engine, self) for each in range(number)
        ]

    def start(self) -> None:
        """Returns once all serve. Raises `SettingsError` where one cannot."""
        for each in self._processes:
            each.start()
        try:
            for each in self._processes:
                each.wait_serving()
        except SettingsError:
            self.close()
            raise
        REGISTRY.register(self)

    @property
    def num_streams(self) -> int:
        return sum(each.streams for each in self.addresses())

    @property
    def longest_pause_s(self) -> float:
        return max((state.longest_pause_s for state in self._states()), default=0.0)

    def addresses(self) -> tuple[LiveAddress, ...]:
        """Without those of processes that are started again."""
        return tuple(state.address for state in self._states())

    def refuse_new(self, *, is_leaving: bool) -> None:
        self._is_refusing = is_leaving
        for each in self._processes:
            each.refuse_new(is_leaving=is_leaving)

    def refuse_if_idle(self) -> bool:
        """Where one is not, the others take streams again, unless all were to refuse before."""
        if all(each.refuse_if_idle() for each in self._processes):
            return True
        self.refuse_new(is_leaving=self._is_refusing)
        return False

    def close(self, grace_s: float = 0.0) -> None:
        """Streams end within the grace, or are handed over. Idempotent."""
        with suppress(KeyError):
            REGISTRY.unregister(self)
        for each in self._processes:
            each.begin_close(grace_s)
        for each in self._processes:
            each.close()

    def _measured(self) -> Iterable[Metric]:
        return (each for state in self._states() for each in state.metrics)

    def _states(self) -> list[LiveState]:
        return [state for each in self._processes if (state := each.state)]


def _start_of(settings: WorkerSettings, worker: str, engine: EngineProcess, index: int, number: int) -> StartBeside:
    """Of one process of so many, with its share of the slots."""
    port = settings.live_port + index if settings.live_port else 0
    share = (engine.info.live_slots + index) // number
    changed = settings.model_copy(update={"live_port": port, "live_slots": share})
    return StartBeside(changed, worker, engine.info)


class _LiveProcess(Kept["_LiveChild"]):
    def __init__(self, start: StartBeside, engine: EngineProcess, processes: LiveProcesses) -> None:
        super().__init__("live-process", start, engine)
        self._processes = processes
        self._failure: str | None = None
        self._is_refusing = False

    def wait_serving(self) -> None:
        """Raises `SettingsError` where it cannot."""
        with self._changed:
            self._changed.wait_for(lambda: self.state is not None or self._failure is not None, START_S)
            failure = self._failure or (None if self.state else f"it was not ready after {START_S:.0f} s")
        if failure is not None:
            raise SettingsError(f"live speech: {failure}")

    @property
    def state(self) -> LiveState | None:
        """None while the process is started again."""
        return child.state if (child := self.child) else None

    def refuse_new(self, *, is_leaving: bool) -> None:
        self._is_refusing = is_leaving
        if child := self.child:
            child.send(RefuseNew(is_leaving))

    def refuse_if_idle(self) -> bool:
        """True while the process restarts: it has no streams then, and refuses new ones from its start."""
        is_idle = child.is_idle(ANSWER_S) if (child := self.child) else True
        self._is_refusing = self._is_refusing or is_idle
        return is_idle

    # ------------------------------------------------------------------------------------------ its thread

    def _begin(self) -> _LiveChild:
        child = _LiveChild(self._start, self._notify)
        if self._is_refusing:
            child.send(RefuseNew(is_leaving=True))
        return child

    def _lost(self, child: _LiveChild) -> None:
        self.child, self._failure = None, child.failure
        if child.state:
            self._processes.keep_counts(child.state.metrics)


class _LiveChild(Child):
    def __init__(self, start: StartBeside, on_change: Callable[[], None]) -> None:
        self.state: LiveState | None = None
        self._idle: Future[bool] | None = None
        super().__init__("worker.lifecycle.live.process", RELEASE, start, on_change)

    def is_idle(self, patience_s: float) -> bool:
        """It has no streams, and takes none any more. False where it does not say so in time."""
        self._idle = Future()
        self.send(RefuseIfIdle())
        try:
            return self._idle.result(patience_s)
        except TimeoutError:
            return self.has_ended

    def _take(self, message: object) -> None:
        match message:
            case LiveState() as state:
                self.state, self.has_begun = state, True
                self._on_change()
            case IsIdle(is_so):
                if self._idle is not None and not self._idle.done():
                    self._idle.set_result(is_so)
            case _:
                logger.error("the live process says %s", type(message).__name__)
