"""`Engine` over a host process that may die at any time: started again, watched, and honest about what was lost."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass

from worker.engine.errors import EngineDied, EngineError, EngineUnavailable, RequestCancelled
from worker.engine.interface import (
    EngineInfo,
    EngineStats,
    OnAudio,
    ReferenceAudio,
    Speech,
    SpeechRequest,
    VoicePrompt,
)
from worker.engine.process.host_process import Call, EngineHostProcess, SpeechCall, VoiceCall
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


@dataclass(frozen=True, slots=True, eq=False)
class _Queued:
    """A call that waits for the engine to be ready."""

    call: Call
    give_up_s: float


class EngineProcess:
    """An engine in a child process.

    When the process dies, every call in flight fails with EngineDied, and the process is started again, with a
    growing delay while it dies without having served anything. Calls made meanwhile wait for it.
    """

    def __init__(self, settings: EngineSettings, times: ProcessTimes | None = None) -> None:
        self._settings = settings
        self._times = times or ProcessTimes()
        self._changed = threading.Condition()
        self._queue: deque[_Queued] = deque()
        self._current: EngineHostProcess | None = None
        self._ready: EngineHostProcess | None = None
        self._info: EngineInfo | None = None
        self._fatal: EngineError | None = None
        self._closing = False
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
    def info(self) -> EngineInfo:
        """Raises EngineDied before `start` has returned."""
        with self._changed:
            if self._info is None:
                raise EngineDied("the engine has not been started")
            return self._info

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

    def submit(self, request: SpeechRequest, on_audio: OnAudio | None = None) -> Future[Speech]:
        """`on_audio` is called by the thread that reads the host's socket, which keeps what it has got until the end.

        So one stream holds at most its utterance here, and a listener that is slow holds up neither socket nor host.
        """
        future: Future[Speech] = Future()
        future.set_running_or_notify_cancel()  # `cancel` is the way to give up, not Future.cancel
        self._dispatch(SpeechCall(request, future, on_audio))
        return future

    def extend(self, request_id: str, text: str, *, is_last: bool) -> None:
        """Never waits for the host. Of a call that waits for it, the text is put together here."""
        with self._changed:
            for queued in self._queue:
                if isinstance(queued.call, SpeechCall) and _is_for(queued.call, request_id):
                    queued.call.write_on(text, is_last=is_last)
                    return
            if self._ready is not None:
                self._ready.extend(request_id, text, is_last=is_last)

    def encode_voice(self, reference: ReferenceAudio) -> Future[VoicePrompt]:
        future: Future[VoicePrompt] = Future()
        future.set_running_or_notify_cancel()
        self._dispatch(VoiceCall(reference, future))
        return future

    def cancel(self, request_id: str) -> None:
        """Never waits for the host. A call that has reached it fails once the host has let go of the slot."""
        with self._changed:
            queued = next((waiting for waiting in self._queue if _is_for(waiting.call, request_id)), None)
            if queued is not None:
                self._queue.remove(queued)
            ready = self._ready
        if queued is not None:
            queued.call.future.set_exception(RequestCancelled(f"request {request_id!r} was cancelled"))
        elif ready is not None:
            ready.cancel(request_id)

    def stats(self) -> EngineStats:
        """The host's last heartbeat, at most half a second old; while it is down, `waiting` counts the queue."""
        with self._changed:
            stats = self._ready.stats if self._ready else None
            return stats or EngineStats(steps=0, frames=0, active=0, waiting=len(self._queue), finished=0)

    def close(self) -> None:
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        if self._supervisor.ident is not None:
            self._supervisor.join()
        self._fail_queued(lambda _: True, EngineUnavailable("the engine was closed"))

    # ------------------------------------------------------------------------------------------ any thread

    def _dispatch(self, call: Call) -> None:
        with self._changed:
            refusal = self._refusal()
            if refusal is None and (self._ready is None or not self._ready.send(call)):
                self._queue.append(_Queued(call, time.monotonic() + self._times.queue_s))
        if refusal is not None:
            call.future.set_exception(refusal)

    def _refusal(self) -> EngineDied | None:
        if self._closing:
            return EngineUnavailable("the engine was closed")
        if self._supervisor.ident is None:
            return EngineUnavailable("the engine has not been started")
        return None

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()

    # ------------------------------------------------------------------------------------------ supervisor thread

    def _supervise(self) -> None:
        """Start, watch, note the end, wait, again. The thread lives as long as any host: see `EngineHostProcess`."""
        backoff = Backoff()
        try:
            while not self._closing:
                ended = self._run_once()
                if ended is None:
                    return
                self._wait_restarting(backoff.delay_s(served=ended.served > 0))
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
        try:
            while current.end_reason is None and not self._closing:
                current.check()
                if current.info is not None:
                    self._admit(current, current.info)
                elif time.monotonic() - started_s > self._times.start_s:
                    current.kill(f"not ready after {self._times.start_s:.0f} s")
                self._tick(lambda: current.end_reason is not None or (self._ready is None and current.info is not None))
        finally:
            with self._changed:
                self._ready = self._current = None
            if current.end_reason is None:
                current.close(_CLOSE_GRACE_S)
        return None if self._closing else self._after_end(current)

    def _admit(self, current: EngineHostProcess, info: EngineInfo) -> None:
        """Let the engine take calls, those that waited first. Does nothing the second time."""
        with self._changed:
            if self._ready is current:
                return
            self._info = info
            self._ready = current
            while self._queue and current.send(self._queue[0].call):
                self._queue.popleft()
            self._changed.notify_all()
        logger.info("the engine is ready: process %d, start %d", current.pid, self._starts)

    def _after_end(self, ended: EngineHostProcess) -> EngineHostProcess | None:
        reason = ended.end_reason
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
        if ended.start_error is not None:
            return ended.start_error
        if self._deaths < _FIRST_STARTS:
            return None
        words = ended.last_words().strip().rpartition("\n")[2]
        return EngineDied(f"the engine ended {self._deaths} times before it was ready: {ended.end_reason}: {words}")

    def _wait_restarting(self, delay_s: float) -> None:
        until_s = time.monotonic() + delay_s
        while not self._closing and time.monotonic() < until_s:
            self._tick(lambda: False)

    def _tick(self, is_due: Callable[[], bool]) -> None:
        """Sleep a little, less if something happens; then fail the calls that have waited too long."""
        with self._changed:
            self._changed.wait_for(lambda: self._closing or is_due(), _TICK_S)
        now_s = time.monotonic()
        reason = f"the engine was not ready within {self._times.queue_s:.0f} s: {self._last_death_reason}"
        late = EngineUnavailable(reason)
        self._fail_queued(lambda queued: queued.give_up_s <= now_s, late)

    def _fail_queued(self, is_affected: Callable[[_Queued], bool], error: EngineError) -> None:
        with self._changed:
            affected = [queued for queued in self._queue if is_affected(queued)]
            for queued in affected:
                self._queue.remove(queued)
        for queued in affected:
            queued.call.future.set_exception(error)


def _is_for(call: Call, request_id: str) -> bool:
    return isinstance(call, SpeechCall) and call.request.request_id == request_id
