"""Post-processing in processes beside the worker: what one interpreter cannot do for hundreds of slots.

Judging and storing a segment takes more CPU than everything else the worker does for it, and Python gives a process one
core. The caller's thread borrows a channel to a process and waits on it, with no other thread between.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TypeVar, TypeVarTuple, cast

from rhapsode.contract.jobs.quality import Gate
from storage.ids import TenantId
from storage.runtime.observability.metrics import ARTIFACT_WRITTEN, store_call
from storage.runtime.watched import watched_thread
from worker.process.children.channel import Channel
from worker.speech.postprocessing.child import PostProcessorProcess, PostProcessorUnusable
from worker.speech.postprocessing.dispatch import CallBrokenOff, Dispatcher, PostProcessorDied, ProcessSlot
from worker.speech.postprocessing.in_process import InProcessPostProcessor
from worker.speech.postprocessing.interface import JudgedSpeech, PackPart, Sequel, StoredSpeech
from worker.speech.postprocessing.protocol import Call, Raised
from worker.speech.quality.calibration.calibration_file import SpeechBounds
from worker.speech.quality.job_norms import JobNorms
from worker.speech.quality.verdict import JudgedUtterance, Verdict

logger = logging.getLogger(__name__)

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

TRIES_ALONE = 2
"""Of a call whose process died under it. A process that has one call may be killed from outside, too, but hardly
twice in a row."""


class PostProcessorPool:
    """Implements `PostProcessor` with processes that are started again when they end.

    processes: how many. channels: calls at the same time, over all of them. environment: for them, beyond our own.
    store: what the object store is called in metrics.
    """

    def __init__(
        self, processes: int, channels: int, store: str, worker: str, environment: Mapping[str, str] | None = None
    ) -> None:
        self._channels_each = -(-channels // processes)
        self._dispatcher = Dispatcher(processes, self._channels_each)
        self._environment = environment or {}
        self._worker = worker
        self._is_closed = threading.Event()
        self._keeper = watched_thread("postprocessor-keeper", self._keep, self._is_closed)
        # A second closer must not go on before the processes have gone.
        self._closing = threading.Lock()
        self._written = ARTIFACT_WRITTEN.labels(store)
        self._put = store_call("put", store)(self._result)

    @property
    def pids(self) -> tuple[int, ...]:
        """Of those that run."""
        return self._dispatcher.pids

    @property
    def num_processes(self) -> int:
        return len(self.pids)

    def start(self) -> None:
        """Start all and wait for them, in a thread that outlives them. Raises `PostProcessorUnusable`; all are gone
        then.
        """
        children: list[PostProcessorProcess] = []
        try:
            for _ in self._dispatcher.slots:
                children.append(self._new_child())
            for child in children:
                child.wait_ready()
        except (OSError, PostProcessorUnusable) as error:
            _close(children)
            raise PostProcessorUnusable(f"a post-processor process cannot start: {error}") from error
        for slot, child in zip(self._dispatcher.slots, children, strict=True):
            self._dispatcher.fill(slot, child)
        self._keeper.start()

    def judge(self, utterance: JudgedUtterance, gate: Gate, bounds: SpeechBounds, norms: JobNorms | None) -> Verdict:
        return self._result(InProcessPostProcessor.judge, utterance, gate, bounds, norms)

    def judge_then(
        self, utterance: JudgedUtterance, gate: Gate, bounds: SpeechBounds, norms: JobNorms | None, sequel: Sequel
    ) -> JudgedSpeech:
        judged = self._result(InProcessPostProcessor.judge_then, utterance, gate, bounds, norms, sequel)
        self._written.inc(judged.made.stored_bytes if judged.made else 0)
        return judged

    def store(self, key: str, part: PackPart) -> StoredSpeech:
        stored = self._put(InProcessPostProcessor.store, key, part)
        self._written.inc(stored.num_bytes)
        return stored

    def store_pack(self, tenant: TenantId, parts: Sequence[PackPart]) -> tuple[StoredSpeech, ...]:
        stored = self._put(InProcessPostProcessor.store_pack, tenant, parts)
        self._written.inc(sum(each.num_bytes for each in stored))
        return stored

    def close(self) -> None:
        """Any thread, several times. Calls that are under way raise `PostProcessorsClosed`."""
        with self._closing:
            self._is_closed.set()
            _close(self._dispatcher.close())
            if self._keeper.ident is not None:
                self._keeper.join()

    # ------------------------------------------------------------------------------------------ any thread

    def _result(self, method: Callable[[InProcessPostProcessor, *Ts], T], *arguments: *Ts) -> T:
        answered = self._answer(Call(method, arguments))
        if isinstance(answered, Raised):
            raise answered.error
        return cast("T", answered)

    def _answer(self, call: Call) -> object:
        """With others beside it; and alone, if that process ended."""
        try:
            with self._dispatcher.shared_channel() as channel:
                return _asked(channel, call)
        except CallBrokenOff as broken_off:
            slot = broken_off.slot
        for _ in range(TRIES_ALONE):
            with suppress(CallBrokenOff), self._dispatcher.exclusive_channel(slot) as channel:
                return _asked(channel, call)
        raise PostProcessorDied(f"{1 + TRIES_ALONE} post-processor processes ended with the same call")

    # ------------------------------------------------------------------------------------------ keeper thread

    def _keep(self) -> None:
        while slot := self._dispatcher.next_vacancy():
            try:
                self._restart(slot)
            except (OSError, PostProcessorUnusable) as error:
                # No process or no descriptor to be had, or it ends at once. The next try comes later than this one.
                logger.error("a post-processor process cannot start", extra={"error": str(error)})

    def _restart(self, slot: ProcessSlot) -> None:
        child = self._new_child()
        try:
            child.wait_ready()
        except BaseException:
            child.end()
            raise
        if self._dispatcher.fill(slot, child):
            logger.info("a post-processor process is ready", extra={"postprocessor": child.pid})
        else:
            child.close()

    def _new_child(self) -> PostProcessorProcess:
        return PostProcessorProcess(self._channels_each, self._environment, self._worker)


def _asked(channel: Channel, call: Call) -> object:
    channel.send(call)
    return channel.receive()


def _close(children: Sequence[PostProcessorProcess]) -> None:
    for child in children:
        child.close()
