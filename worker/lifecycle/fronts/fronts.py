"""The worker's fronts: itself, and the processes beside it that claim and finish items for the same engine."""

from __future__ import annotations

import enum
import logging
import queue
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count

from prometheus_client.core import Metric

from storage.jobs import work_items
from storage.jobs.work_items import ClaimedItem
from storage.runtime.observability.metrics import REGISTRY
from worker import settings as worker_settings
from worker.engine import interface
from worker.engine.process.engine_process import EngineProcess
from worker.items.gpu_ticket import GpuTickets
from worker.lifecycle import beside
from worker.lifecycle.beside import Child, Counted, Kept, StartBeside
from worker.process.children.release import release_of
from worker.settings import WorkerSettings

logger = logging.getLogger(__name__)

Answerer = Callable[[], bool | None]


class FrontOrder(enum.Enum):
    """Of the worker. A front repeats `ANSWER` once it finds no items, and `HOLD` once it runs none."""

    ANSWER = "answer"
    HOLD = "hold"
    GO_ON = "go on"
    CLAIM_NOTHING = "claim nothing"
    CLAIM = "claim"


@dataclass(frozen=True, slots=True)
class FrontState:
    """The first one says that it takes tickets. metrics: as this process counts them.

    A suspect comes as its `ClaimedItem`: the worker runs it, and keeps its lease.
    """

    leases: int
    metrics: Sequence[Metric]


class Fronts(Counted):
    """Any thread may ask. tickets: this process's own, which also runs the suspects of all."""

    def __init__(self, settings: WorkerSettings, worker: str, engine: EngineProcess, tickets: GpuTickets) -> None:
        super().__init__()
        self.tickets = tickets
        self.starting = threading.Lock()
        self.claims_nothing = False
        self._numbers = count()
        self._free: queue.PriorityQueue[tuple[int, Answerer]] = queue.PriorityQueue()
        self.is_free(tickets.answer)
        self._others = [
            _Front(StartBeside(settings, f"{worker}.front-{number}", engine.info), engine, self)
            for number in range(1, settings.num_fronts)
        ]

    def start(self) -> None:
        for each in self._others:
            each.start()
        REGISTRY.register(self)

    def is_free(self, answer: Answerer) -> None:
        """Tickets may be answered by this from now on. It returns False, and is forgotten, where its process ended."""
        self._free.put((next(self._numbers), answer))

    def answer(self) -> None:
        """One ticket: by the first front that has none; waits for one."""
        while True:
            number, answer = self._free.get()
            goes_on = True
            try:
                goes_on = answer() is not False
            finally:
                if goes_on:
                    self._free.put((number, answer))
            if goes_on:
                return

    @contextmanager
    def held_back(self) -> Generator[None]:
        """The other fronts run nothing, and none is started."""
        with self.starting:
            children = self._children()
            try:
                for child in children:
                    child.hold()
                for child in children:
                    child.wait_held()
                yield
            finally:
                for child in children:
                    child.send(FrontOrder.GO_ON)

    def claim_nothing(self, *, is_wished: bool) -> None:
        self.claims_nothing = is_wished
        for child in self._children():
            child.send(FrontOrder.CLAIM_NOTHING if is_wished else FrontOrder.CLAIM)

    @property
    def num_held(self) -> int:
        """Leases of the other fronts."""
        return sum(child.state.leases for child in self._children() if child.state)

    def begin_close(self, grace_s: float) -> None:
        for each in self._others:
            each.begin_close(grace_s)

    def close(self) -> None:
        """Returns when all have ended. Idempotent."""
        with suppress(KeyError):
            REGISTRY.unregister(self)
        for each in self._others:
            each.close()

    def _measured(self) -> Iterable[Metric]:
        return (each for child in self._children() if child.state for each in child.state.metrics)

    def _children(self) -> list[_FrontChild]:
        return [child for each in self._others if (child := each.child)]


class _Front(Kept["_FrontChild"]):
    def __init__(self, start: StartBeside, engine: EngineProcess, fronts: Fronts) -> None:
        super().__init__("front", start, engine)
        self._fronts = fronts

    def _begin(self) -> _FrontChild:
        with self._fronts.starting:
            child = self.child = _FrontChild(self._start, self._fronts)
        if self._fronts.claims_nothing:
            child.send(FrontOrder.CLAIM_NOTHING)
        return child

    def _lost(self, child: _FrontChild) -> None:
        self.child = None
        if child.state:
            self._fronts.keep_counts(child.state.metrics)


class _FrontChild(Child):
    def __init__(self, start: StartBeside, fronts: Fronts) -> None:
        self._fronts = fronts
        self.state: FrontState | None = None
        self._held = threading.Event()
        self._answered = threading.Event()
        super().__init__("worker.lifecycle.fronts.process", RELEASE, start, self._wake)

    def answer(self) -> bool:
        """One ticket. False if it has ended before it said that there are no items any more."""
        self._answered.clear()
        if not self.has_ended:
            self.send(FrontOrder.ANSWER)
            self._answered.wait()
        return not self.has_ended

    def hold(self) -> None:
        self._held.clear()
        self.send(FrontOrder.HOLD)

    def wait_held(self) -> None:
        """Returns once it runs nothing."""
        if not self.has_ended:
            self._held.wait()

    def _wake(self) -> None:
        """It has ended."""
        self._answered.set()
        self._held.set()

    def _take(self, message: object) -> None:
        match message:
            case FrontState() as state:
                self.state = state
                if not self.has_begun:
                    self.has_begun = True
                    self._fronts.is_free(self.answer)
            case FrontOrder.ANSWER:
                self._answered.set()
            case FrontOrder.HOLD:
                self._held.set()
            case ClaimedItem() as suspect:
                self._fronts.tickets.take(suspect)
            case _:
                logger.error("a front says %s", type(message).__name__)


RELEASE = release_of(beside, interface, work_items, worker_settings, sys.modules[__name__])
"""A front's greeting."""
