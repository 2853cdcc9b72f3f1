"""`Engine` over calls to a host that may end at any time: new calls wait for the next host."""

from __future__ import annotations

import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass

from worker.engine.errors import EngineDied, EngineError, EngineUnavailable, RequestCancelled
from worker.engine.interface import EngineInfo, EngineStats, OnAudio, ReferenceAudio, Speech, SpeechRequest, VoicePrompt
from worker.engine.process.calls import Call, EngineCalls, SpeechCall, VoiceCall
from worker.process.children.channel import Channel

QUEUE_S = 60.0


@dataclass(frozen=True, slots=True, eq=False)
class _Queued:
    """A call that waits for the engine to be ready."""

    call: Call
    give_up_s: float


class EngineFront:
    """Any thread may call any method. queue_s: how long a call waits for a host; then it fails with EngineDied."""

    def __init__(self, queue_s: float = QUEUE_S) -> None:
        self._queue_s = queue_s
        self._changed = threading.Condition()
        self._queue: deque[_Queued] = deque()
        self._ready: EngineCalls | None = None
        self._info: EngineInfo | None = None
        self._closing = False

    @property
    def info(self) -> EngineInfo:
        """Raises EngineDied before the first host was ready."""
        with self._changed:
            if self._info is None:
                raise EngineDied("the engine has not been started")
            return self._info

    def submit(self, request: SpeechRequest, on_audio: OnAudio | None = None) -> Future[Speech]:
        """`on_audio` is called by the thread that reads the host's socket, which keeps what it has got until the end.

        So one stream holds at most its utterance here, and a slow listener delays neither socket nor host.
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

    def admit(self, calls: EngineCalls, info: EngineInfo) -> bool:
        """Send calls there from now on, those that waited first. False if they go there already."""
        with self._changed:
            if self._ready is calls:
                return False
            self._info = info
            self._ready = calls
            while self._queue and calls.send(self._queue[0].call):
                self._queue.popleft()
            self._changed.notify_all()
        return True

    def lose(self, calls: EngineCalls) -> None:
        """Calls wait from now on."""
        with self._changed:
            if self._ready is calls:
                self._ready = None

    def fail_late(self, reason: str) -> None:
        """Fail calls that have waited too long. To be called a few times per second."""
        now_s = time.monotonic()
        late = EngineUnavailable(f"the engine was not ready within {self._queue_s:.0f} s: {reason}")
        self._fail_queued(lambda queued: queued.give_up_s <= now_s, late)

    def close(self) -> None:
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._fail_queued(lambda _: True, EngineUnavailable("the engine was closed"))

    # ------------------------------------------------------------------------------------------ any thread

    def _dispatch(self, call: Call) -> None:
        with self._changed:
            refusal = self._refusal()
            if refusal is None and (self._ready is None or not self._ready.send(call)):
                self._queue.append(_Queued(call, time.monotonic() + self._queue_s))
        if refusal is not None:
            call.future.set_exception(refusal)

    def _refusal(self) -> EngineDied | None:
        return EngineUnavailable("the engine was closed") if self._closing else None

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _fail_queued(self, is_affected: Callable[[_Queued], bool], error: EngineError) -> None:
        with self._changed:
            affected = [queued for queued in self._queue if is_affected(queued)]
            for queued in affected:
                self._queue.remove(queued)
        for queued in affected:
            queued.call.future.set_exception(error)


def _is_for(call: Call, request_id: str) -> bool:
    return isinstance(call, SpeechCall) and call.request.request_id == request_id


_TICK_S = 0.25
_END_S = 5.0


class EngineLine(EngineFront):
    """Calls wait while there is no channel. info: of the engine, which is the same in all of its runs."""

    def __init__(self, info: EngineInfo) -> None:
        super().__init__()
        self._info = info
        self._calls: EngineCalls | None = None
        self._watch = threading.Thread(target=self._look_on, name="engine-line", daemon=True)
        self._watch.start()

    def use(self, channel: socket.socket) -> None:
        """A new channel, usually of a new host. Calls of the old one fail with its end."""
        calls = EngineCalls(Channel(channel), "the engine", self._notify, lambda complaint: complaint or "it is gone")
        with self._changed:
            old, self._calls = self._calls, calls
        if old is not None:
            old.hang_up()
        calls.start()

    def close(self) -> None:
        with self._changed:
            calls = self._calls
        super().close()
        if calls is not None:
            calls.hang_up()
            calls.join(_END_S)
        self._watch.join()

    def _look_on(self) -> None:
        while not self._closing:
            with self._changed:
                calls = self._calls
            if calls is not None and calls.end_reason is not None:
                self.lose(calls)
            elif calls is not None and calls.info is not None:
                self.admit(calls, calls.info)
            self.fail_late("its worker starts it again")
            with self._changed:
                self._changed.wait(_TICK_S)
