"""Finishing in processes beside the worker: what one interpreter cannot do for hundreds of slots.

Judging and storing a segment takes more CPU than everything else the worker does for it, and Python gives a process one
core. The caller's thread borrows a line to a process and waits on it, with no other thread between.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress

from storage.narration.quality import Gate
from storage.runtime.observability.metrics import ARTIFACT_WRITTEN, store_call
from storage.segments.file import SegmentHeader
from worker.engine.interface import Speech
from worker.speech.postprocessing.channel import Line
from worker.speech.postprocessing.child import FinisherChild, FinisherUnusable
from worker.speech.postprocessing.dispatch import CallBrokenOff, FinisherDied, Place, Places
from worker.speech.postprocessing.interface import FinisherReport, StoredSpeech
from worker.speech.postprocessing.protocol import Answer, Call, Done, Judge, Raised, Store
from worker.speech.quality.calibration.calibration_file import SpeechBounds
from worker.speech.quality.job_norms import JobNorms
from worker.speech.quality.verdict import Utterance, Verdict

logger = logging.getLogger(__name__)

TRIES_ALONE = 2
"""Of a call whose process died under it. A process that has one call may be killed by somebody else, too, but hardly
twice in a row."""


class FinisherPool:
    """Implements `Finisher` with processes that are started again when they end.

    processes: how many. lines: calls at the same time, over all of them. environment: for them, beyond our own.
    store: what the object store is called in metrics.
    """

    def __init__(
        self, processes: int, lines: int, store: str, worker: str, environment: Mapping[str, str] | None = None
    ) -> None:
        self._lines_each = -(-lines // processes)
        self._places = Places(processes, self._lines_each)
        self._environment = environment or {}
        self._worker = worker
        self._keeper = threading.Thread(target=self._keep, name="finisher-keeper", daemon=True)
        # Whoever closes it second must not go on before the processes have gone.
        self._closing = threading.Lock()
        self._written = ARTIFACT_WRITTEN.labels(store)
        self._measured_store = store_call("put", store)(self._store)

    @property
    def pids(self) -> tuple[int, ...]:
        """Of those that run."""
        return self._places.pids

    def report(self) -> FinisherReport:
        return FinisherReport(len(self._places.pids), self._places.deaths)

    def start(self) -> None:
        """Start all and wait for them, in a thread that outlives them. Raises `FinisherUnusable`; all are gone then."""
        children: list[FinisherChild] = []
        try:
            for _ in self._places.all:
                children.append(self._new_child())
            for child in children:
                child.wait_ready()
        except (OSError, FinisherUnusable) as error:
            _close(children)
            raise FinisherUnusable(f"a finisher process cannot start: {error}") from error
        for place, child in zip(self._places.all, children, strict=True):
            self._places.fill(place, child)
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
        """Any thread, several times. Calls that are under way raise `FinishersClosed`."""
        with self._closing:
            _close(self._places.close())
            if self._keeper.ident is not None:
                self._keeper.join()

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
        """With others beside it; and where nobody else is, if that process ended."""
        try:
            with self._places.line_among_others() as line:
                return _asked(line, call)
        except CallBrokenOff as broken_off:
            place = broken_off.place
        for _ in range(TRIES_ALONE):
            with suppress(CallBrokenOff), self._places.line_alone(place) as line:
                return _asked(line, call)
        raise FinisherDied(f"{1 + TRIES_ALONE} finisher processes ended with the same call")

    # ------------------------------------------------------------------------------------------ keeper thread

    def _keep(self) -> None:
        while place := self._places.next_vacancy():
            try:
                self._restart(place)
            except (OSError, FinisherUnusable) as error:
                # No process or no descriptor to be had, or it ends at once. The next try comes later than this one.
                logger.error("a finisher process cannot start", extra={"error": str(error)})

    def _restart(self, place: Place) -> None:
        child = self._new_child()
        try:
            child.wait_ready()
        except (OSError, FinisherUnusable):
            child.end()
            raise
        if self._places.fill(place, child):
            logger.info("a finisher process is ready", extra={"finisher": child.pid})
        else:
            child.close()

    def _new_child(self) -> FinisherChild:
        return FinisherChild(self._lines_each, self._environment, self._worker)


def _asked(line: Line, call: Call) -> Answer:
    line.send(call)
    said = line.receive()
    assert isinstance(said, Answer)  # noqa: S101  (our own code wrote it)
    return said


def _close(children: Sequence[FinisherChild]) -> None:
    for child in children:
        child.close()
