"""The live server's process, seen from the worker."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import suppress

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from storage.live.address import LiveAddress
from storage.runtime.config.settings import SettingsError
from storage.runtime.observability.metrics import REGISTRY
from worker.engine.process.engine_process import EngineProcess
from worker.lifecycle.beside import Child, Kept, StartBeside
from worker.lifecycle.live.protocol import RELEASE, IsIdle, LiveState, RefuseIfIdle, RefuseNew

logger = logging.getLogger(__name__)

START_S = 60.0
ANSWER_S = 10.0


class LiveProcess(Kept["_LiveChild"], Collector):
    """The interface of `LiveServer`. Any thread may ask."""

    def __init__(self, start: StartBeside, engine: EngineProcess) -> None:
        super().__init__("live-process", start, engine)
        self._failure: str | None = None
        self._is_refusing = False

    def start(self) -> None:
        """Returns once it serves. Raises `SettingsError` where it cannot."""
        super().start()
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
        if child := self.child:
            child.send(RefuseNew(is_leaving))

    def refuse_if_idle(self) -> bool:
        """True while the process restarts: it has no streams then, and refuses new ones from its start."""
        is_idle = child.is_idle(ANSWER_S) if (child := self.child) else True
        self._is_refusing = self._is_refusing or is_idle
        return is_idle

    def close(self, grace_s: float = 0.0) -> None:
        """Streams end within the grace, or are handed over. Idempotent."""
        with suppress(KeyError):
            REGISTRY.unregister(self)
        super().close(grace_s)

    # ------------------------------------------------------------------------------------------ its thread

    @property
    def _state(self) -> LiveState | None:
        return child.state if (child := self.child) else None

    def _begin(self) -> _LiveChild:
        child = _LiveChild(self._start, self._notify)
        if self._is_refusing:
            child.send(RefuseNew(is_leaving=True))
        return child

    def _lost(self, child: _LiveChild) -> None:
        self.child, self._failure = None, child.failure


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
