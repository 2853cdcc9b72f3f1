"""Finishing in processes beside the worker: what one interpreter cannot do for hundreds of slots.

Judging and storing a segment takes more CPU than everything else the worker does for it, and Python gives a process one
core. The caller's thread borrows a line to the least busy process and waits on it, with no other thread between.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from storage.metrics import ARTIFACT_WRITTEN, store_call
from storage.quality import Gate
from storage.segment_file import SegmentHeader
from worker.engine.interface import Speech
from worker.engine.process.watchdog import Backoff
from worker.finishing.calls import Answer, Call, Done, Judge, Raised, Store
from worker.finishing.child import FinisherChild, FinisherUnusable
from worker.finishing.finisher import FinisherReport, StoredSpeech
from worker.finishing.line import Line
from worker.quality.calibration import SpeechBounds
from worker.quality.job_norms import JobNorms
from worker.quality.verdict import Utterance, Verdict

logger = logging.getLogger(__name__)

TRIES = 3
"""Of a call whose process died under it. What it does is the same each time: a call that kills three is to blame."""

QUEUE_S = 60.0
"""How long a call waits for a line. There is one for each thread of the worker, so only restarts make it wait."""


class FinisherDied(Exception):
    """No process was left to finish a segment, or each that tried died of it."""


@dataclass(slots=True)
class _Place:
    """One process's place in the pool. child: None while it is started again."""

    num_lines: int
    child: FinisherChild | None = None
    has_served: bool = False
    backoff: Backoff = field(default_factory=Backoff)


class FinisherPool:
    """Implements `Finisher` with processes that are started again when they end.

    processes: how many. lines: calls at the same time, over all of them. environment: for them, beyond our own.
    store: what the object store is called in metrics.
    """

    def __init__(
        self, processes: int, lines: int, store: str, worker: str, environment: Mapping[str, str] | None = None
    ) -> None:
        each = -(-lines // processes)
        self._places = [_Place(each) for _ in range(processes)]
        self._environment = environment or {}
        self._worker = worker
        self._lock = threading.Lock()
        # Callers and the keeper wait for different things: a line given back must wake a caller.
        self._line_idle = threading.Condition(self._lock)
        self._place_changed = threading.Condition(self._lock)
        self._closing = False
        self._deaths = 0
        self._keeper = threading.Thread(target=self._keep, name="finisher-keeper", daemon=True)
        self._written = ARTIFACT_WRITTEN.labels(store)
        self._measured_store = store_call("put", store)(self._store)

    @property
    def pids(self) -> tuple[int, ...]:
        """Of those that run."""
        with self._lock:
            return tuple(place.child.pid for place in self._places if place.child)

    def report(self) -> FinisherReport:
        with self._lock:
            return FinisherReport(sum(place.child is not None for place in self._places), self._deaths)

    def start(self) -> None:
        """Start all and wait for them. Raises `FinisherUnusable`; the pool is closed then."""
        children = [self._new_child(place) for place in self._places]
        try:
            for place, child in zip(self._places, children, strict=True):
                child.wait_ready()
                place.child = child
        except OSError as error:
            self._discard(children)
            raise FinisherUnusable(f"a finisher process ended before it was ready: {error}") from error
        except FinisherUnusable:
            self._discard(children)
            raise
        self._keeper.start()

    def judge(self, utterance: Utterance, gate: Gate, bounds: SpeechBounds, norms: JobNorms | None) -> Verdict:
        result = self._result(Judge(utterance, gate, bounds, norms))
        assert isinstance(result, Verdict)  # noqa: S101  (what `calls.answer` gives to this call)
        return result

    def store(self, key: str, header: SegmentHeader, speech: Speech) -> StoredSpeech:
        stored = self._measured_store(Store(key, header, speech))
        self._written.inc(stored.num_bytes)
        return stored

    def close(self) -> None:
        """Idempotent. No call may be under way."""
        with self._lock:
            self._closing = True
            self._line_idle.notify_all()
            self._place_changed.notify_all()
        if self._keeper.ident is not None:
            self._keeper.join()
        self._discard([place.child for place in self._places if place.child])
        for place in self._places:
            place.child = None

    # ------------------------------------------------------------------------------------------ any thread

    def _store(self, call: Store) -> StoredSpeech:
        result = self._result(call)
        assert isinstance(result, StoredSpeech)  # noqa: S101  (what `calls.answer` gives to this call)
        return result

    def _result(self, call: Call) -> Verdict | StoredSpeech:
        match self._answer(call):
            case Done(result):
                return result
            case Raised(error):
                raise error

    def _answer(self, call: Call) -> Answer:
        for _ in range(TRIES):
            with self._borrowed() as (place, child, line):
                try:
                    line.send(call)
                    said = line.receive()
                except OSError as error:
                    self._bury(place, child, error)
                    continue
                place.has_served = True
                assert isinstance(said, Answer)  # noqa: S101  (our own code wrote it)
                return said
        raise FinisherDied(f"{TRIES} finisher processes ended with the same call")

    @contextmanager
    def _borrowed(self) -> Generator[tuple[_Place, FinisherChild, Line]]:
        """A line of the process with most idle ones. Given back only while that process still has its place."""
        place, child, line = self._take()
        try:
            yield place, child, line
        finally:
            with self._lock:
                if place.child is child:
                    child.idle.append(line)
                    self._line_idle.notify()
                else:
                    line.close()

    def _take(self) -> tuple[_Place, FinisherChild, Line]:
        until_s = time.monotonic() + QUEUE_S
        with self._lock:
            while not self._closing:
                usable = [(place, place.child) for place in self._places if place.child and place.child.idle]
                if usable:
                    place, child = max(usable, key=lambda each: len(each[1].idle))
                    return place, child, child.idle.pop()
                if not self._line_idle.wait(until_s - time.monotonic()):
                    break
        raise FinisherDied(f"no finisher process was there for {QUEUE_S:.0f} s")

    def _bury(self, place: _Place, child: FinisherChild, error: OSError) -> None:
        """A process that does not answer ends. The first who notices does it; the keeper starts another."""
        with self._lock:
            if place.child is not child:
                return
            place.child = None
            self._deaths += 1
            self._place_changed.notify()
        child.end()
        logger.error("a finisher process ended", extra={"finisher": child.pid, "error": str(error)})

    # ------------------------------------------------------------------------------------------ keeper thread

    def _keep(self) -> None:
        while True:
            with self._lock:
                self._place_changed.wait_for(
                    lambda: self._closing or any(place.child is None for place in self._places)
                )
                if self._closing:
                    return
                empty = next(place for place in self._places if place.child is None)
                delay_s = empty.backoff.delay_s(served=empty.has_served)
                empty.has_served = False
                self._place_changed.wait_for(lambda: self._closing, delay_s)
                if self._closing:
                    return
            self._restart(empty)

    def _restart(self, place: _Place) -> None:
        child = self._new_child(place)
        try:
            child.wait_ready()
        except (OSError, FinisherUnusable) as error:
            logger.error("a finisher process cannot start", extra={"finisher": child.pid, "error": str(error)})
            child.end()
            child.close()
            return
        with self._lock:
            place.child = child
            self._line_idle.notify_all()
        logger.info("a finisher process is ready", extra={"finisher": child.pid})

    def _new_child(self, place: _Place) -> FinisherChild:
        return FinisherChild(place.num_lines, self._environment, self._worker)

    def _discard(self, children: list[FinisherChild]) -> None:
        for child in children:
            child.close()
