"""The engine's own process: `python -m worker.engine.process.host`, started by `EngineProcess` and by nothing else.

The main thread reads the worker's calls, another thread writes results and heartbeats; the engine has its own threads.
The process ends with the worker's channel, however the worker ends.
"""

from __future__ import annotations

import logging
import os
import queue
import socket
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from typing import NoReturn, TypeVar

import numpy as np

from worker.engine import errors
from worker.engine.build import build_engine
from worker.engine.errors import EngineDied, EngineError, StartError
from worker.engine.heap import PauseMeter, freeze
from worker.engine.interface import Engine, Speech, SpeechRequest
from worker.engine.process.protocol import (
    RELEASE,
    CallFailed,
    CallSpoken,
    CancelCall,
    EncodeVoice,
    ExtendCall,
    FromHost,
    Heartbeat,
    HostReady,
    HostStartFailed,
    ProtocolError,
    SpokenPart,
    StartHost,
    Submit,
    VoiceEncoded,
)
from worker.process.children.channel import Channel, ChannelClosed
from worker.process.children.program import begin_program, end_with

logger = logging.getLogger(__name__)

HEARTBEAT_S = 0.5
CANNOT_START_STATUS = 3
ENGINE_DEAD_STATUS = 4

_LAST_ANSWERS_S = 0.2

T = TypeVar("T")


def main() -> None:
    channel, door = begin_program(RELEASE)
    try:
        start = channel.receive()
        assert isinstance(start, StartHost)  # noqa: S101  (our own worker wrote it)
        engine = build_engine(start.settings)
    except ChannelClosed:
        return
    except StartError as error:
        channel.send(HostStartFailed(error))
        sys.exit(CANNOT_START_STATUS)
    freeze()
    HostSession(channel, door.stream, engine).serve()


class HostSession:
    """One engine behind the worker's channel, and behind those that come through the door for other processes.

    The process ends with the worker's channel, or with the engine.
    """

    def __init__(self, channel: Channel, door: socket.socket, engine: Engine) -> None:
        self._engine = engine
        self._door = door
        self._pauses = PauseMeter()
        self._line = HostLine(channel, engine, self._pauses)

    def serve(self) -> NoReturn:
        threading.Thread(target=end_with, args=(self._line.send_until_dead,), name="host-sender", daemon=True).start()
        threading.Thread(target=self._answer_door, name="host-door", daemon=True).start()
        end_with(self._line.read_until_closed)

    def _answer_door(self) -> None:
        """Until the worker closes it."""
        while True:
            _, ends, _, _ = socket.recv_fds(self._door, 1, 1)
            if not ends:
                return
            channel = Channel(socket.socket(fileno=ends[0]))
            threading.Thread(target=self._serve_line, args=(channel,), name="host-line", daemon=True).start()

    def _serve_line(self, channel: Channel) -> None:
        line = HostLine(channel, self._engine, self._pauses)
        with suppress(OSError):
            channel.greet(RELEASE)
            threading.Thread(target=self._send_on, args=(line,), name="host-line-sender", daemon=True).start()
            line.read_until_closed()
        line.end()

    def _send_on(self, line: HostLine) -> None:
        """If the engine is dead, the process ends, as it does for the worker's own calls."""
        with suppress(OSError):
            if line.send_until_dead():
                os._exit(ENGINE_DEAD_STATUS)


class HostLine:
    """The calls of one process, over one channel: a thread reads, another one sends."""

    def __init__(self, channel: Channel, engine: Engine, pauses: PauseMeter) -> None:
        self._channel = channel
        self._engine = engine
        self._pauses = pauses
        self._outbox: queue.SimpleQueue[FromHost | None] = queue.SimpleQueue()
        self._outbox.put(HostReady(engine.info))
        self._lock = threading.Lock()
        self._speaking: set[str] = set()

    def read_until_closed(self) -> int:
        while True:
            self._act_on(self._channel.receive())

    def send_until_dead(self) -> int:
        """Returns when the engine's loop is gone for good, which only a new process can mend. 0: after `end`."""
        next_heartbeat_s = time.monotonic()
        dead_s: float | None = None
        while dead_s is None or time.monotonic() < dead_s + _LAST_ANSWERS_S:
            now_s = time.monotonic()
            if dead_s is None and now_s >= next_heartbeat_s:
                # Taken from the engine here: an engine that cannot even count sends no heartbeat.
                stats = replace(self._engine.stats(), longest_pause_s=self._pauses.longest_s)
                self._channel.send(Heartbeat(stats))
                next_heartbeat_s = now_s + HEARTBEAT_S
            try:
                message = self._outbox.get(timeout=max(0.01, min(HEARTBEAT_S, next_heartbeat_s - now_s)))
            except queue.Empty:
                continue
            if message is None:
                return 0
            self._channel.send(message)
            if isinstance(message, CallFailed) and isinstance(message.error, EngineDied):
                dead_s = dead_s or time.monotonic()
        return ENGINE_DEAD_STATUS

    def end(self) -> None:
        """Its process is gone: the engine has the slots of its calls back."""
        with self._lock:
            speaking = tuple(self._speaking)
        for request_id in speaking:
            self._engine.cancel(request_id)
        self._outbox.put(None)
        self._channel.close()

    def _act_on(self, message: object) -> None:
        match message:
            case Submit(call, request, is_streamed=False):
                self._speak(call, request, self._engine.submit(request), CallSpoken)
            case Submit(call, request):
                future = self._engine.submit(request, lambda part: self._outbox.put(SpokenPart(call, part)))
                self._speak(call, request, future, _spoken_out)
            case ExtendCall(request_id, text, is_last):
                self._engine.extend(request_id, text, is_last=is_last)
            case CancelCall(request_id):
                self._engine.cancel(request_id)
            case EncodeVoice(call, reference):
                future = self._engine.encode_voice(reference)
                future.add_done_callback(lambda done: self._outbox.put(_answer(call, done, VoiceEncoded)))
            case _:
                raise ProtocolError(f"{type(message).__name__} is said by no worker")

    def _speak(
        self, call: int, request: SpeechRequest, future: Future[Speech], answered: Callable[[int, Speech], CallSpoken]
    ) -> None:
        with self._lock:
            self._speaking.add(request.request_id)

        def settle(done: Future[Speech]) -> None:
            with self._lock:
                self._speaking.discard(request.request_id)
            self._outbox.put(_answer(call, done, answered))

        future.add_done_callback(settle)


def _answer(call: int, done: Future[T], answered: Callable[[int, T], FromHost]) -> FromHost:
    error = done.exception()
    return answered(call, done.result()) if error is None else CallFailed(call, _as_engine_error(error))


def _spoken_out(call: int, speech: Speech) -> CallSpoken:
    """The end of a call whose samples have been sent."""
    return CallSpoken(call, replace(speech, pcm=np.zeros(0, dtype=np.float32)))


def _as_engine_error(error: BaseException) -> EngineError:
    if isinstance(error, EngineError) and type(error).__module__ == errors.__name__:
        return error
    logger.error("a call failed in a way no engine should", exc_info=error)
    return EngineError(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
