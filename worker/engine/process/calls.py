"""The calls of one process in an engine host, over one channel."""

from __future__ import annotations

import logging
import queue
import socket
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TypeVar

import numpy as np

from worker.engine.errors import EngineDied, RequestRejected, StartError
from worker.engine.interface import (
    EngineInfo,
    EngineStats,
    OnAudio,
    Pcm,
    ReferenceAudio,
    Speech,
    SpeechChunk,
    SpeechRequest,
    VoicePrompt,
)
from worker.engine.process.protocol import (
    RELEASE,
    CallFailed,
    CallSpoken,
    CancelCall,
    EncodeVoice,
    ExtendCall,
    Heartbeat,
    HostReady,
    HostStartFailed,
    ProtocolError,
    SpokenPart,
    StartHost,
    Submit,
    ToHost,
    VoiceEncoded,
)
from worker.process.children.channel import Channel, ChannelBroken, ChannelClosed, MessageTooLarge

logger = logging.getLogger(__name__)


# Compared by identity: arrays have no plain equality.
@dataclass(slots=True, eq=False)
class SpeechCall:
    """parts: what `on_audio` has got, and what the speech's samples are put together from."""

    request: SpeechRequest
    future: Future[Speech]
    on_audio: OnAudio | None = None
    parts: list[Pcm] = field(default_factory=list)

    def write_on(self, text: str, *, is_last: bool) -> None:
        """More of an open text, before the call is sent. Ignored once it is whole."""
        if self.request.text_is_open:
            self.request = replace(self.request, text=self.request.text + text, text_is_open=not is_last)


@dataclass(frozen=True, slots=True, eq=False)
class VoiceCall:
    reference: ReferenceAudio
    future: Future[VoicePrompt]


Call = SpeechCall | VoiceCall
_ANY = SpeechCall, VoiceCall
C = TypeVar("C", bound=Call)


class EngineCalls:
    """From the host's greeting to the end of the channel. Then every call in flight has failed with `EngineDied`.

    The callbacks come from threads of this object. on_change: a property below has changed. describe_end: why the
    channel ended, given what was wrong with it, or "".
    """

    def __init__(
        self, channel: Channel, host: str, on_change: Callable[[], None], describe_end: Callable[[str], str]
    ) -> None:
        """host: its name in errors."""
        self._channel = channel
        self._host = host
        self._on_change = on_change
        self._describe_end = describe_end
        self._lock = threading.Lock()
        self._calls: dict[int, Call] = {}
        self._numbers = count(1)
        self._outbox: queue.SimpleQueue[ToHost | None] = queue.SimpleQueue()
        self.info: EngineInfo | None = None
        """Known from the moment the engine takes calls."""
        self.start_error: StartError | None = None
        self.stats: EngineStats | None = None
        self.served = 0
        """Calls that got a result."""
        self.end_reason: str | None = None
        """Set when the channel has ended."""
        self._complaint = ""
        self._threads = [
            threading.Thread(target=self._read_all, name="engine-reader", daemon=True),
            threading.Thread(target=self._send_all, name="engine-sender", daemon=True),
        ]

    def start(self, first: StartHost | None = None) -> None:
        """first: the message before all calls."""
        if first is not None:
            self._outbox.put(first)
        for thread in self._threads:
            thread.start()

    def send(self, call: Call) -> bool:
        """Hand a call over; False if the channel has ended, and then the call is still the caller's."""
        with self._lock:
            if self.end_reason is not None:
                return False
            number = next(self._numbers)
            self._calls[number] = call
        match call:
            case SpeechCall(request, _, on_audio):
                self._outbox.put(Submit(number, request, is_streamed=on_audio is not None))
            case VoiceCall(reference):
                self._outbox.put(EncodeVoice(number, reference))
        return True

    def extend(self, request_id: str, text: str, *, is_last: bool) -> None:
        self._outbox.put(ExtendCall(request_id, text, is_last))

    def cancel(self, request_id: str) -> None:
        self._outbox.put(CancelCall(request_id))

    def hang_up(self) -> None:
        with suppress(OSError):
            self._channel.stream.shutdown(socket.SHUT_RDWR)

    def join(self, timeout_s: float) -> None:
        for thread in self._threads:
            thread.join(timeout_s)

    # ------------------------------------------------------------------------------------------ sender thread

    def _send_all(self) -> None:
        try:
            while (message := self._outbox.get()) is not None:
                self._send_one(message)
        except OSError:
            return  # the reader sees the same end, and tells
        except Exception as error:  # calls that were never sent would wait without end
            logger.exception("sending to the engine host failed")
            self._complaint = f"sending to it failed: {error!r}"
            self.hang_up()

    def _send_one(self, message: ToHost) -> None:
        try:
            self._channel.send(message)
        except MessageTooLarge as error:
            if isinstance(message, StartHost | ExtendCall | CancelCall):
                raise
            self._take(message.call, *_ANY).future.set_exception(RequestRejected(f"too large for the engine: {error}"))

    # ------------------------------------------------------------------------------------------ reader thread

    def _read_all(self) -> None:
        try:
            self._channel.meet(RELEASE)
            while True:
                self._act_on(self._channel.receive())
        except ChannelClosed:
            complaint = ""
        except (ChannelBroken, ProtocolError) as error:
            complaint = f"it sent nonsense: {error}"
        except OSError as error:
            complaint = f"its socket failed: {error}"
        except Exception as error:  # any error: the calls in flight must not wait without end
            logger.exception("reading from the engine host failed")
            complaint = f"reading from it failed: {error!r}"
        self._end(complaint)

    def _act_on(self, message: object) -> None:
        match message:
            case HostReady(info):
                self.info = info
                self._on_change()
            case HostStartFailed(error):
                self.start_error = error
            case Heartbeat(stats):
                self.stats = stats
            case CallFailed(number, error):
                self._take(number, *_ANY).future.set_exception(error)
            case SpokenPart(number, part):
                self._hear(number, part)
            case CallSpoken(number, speech):
                call = self._take(number, SpeechCall)
                whole = replace(speech, pcm=np.concatenate((*call.parts, speech.pcm))) if call.parts else speech
                call.future.set_result(whole)
                self.served += 1
            case VoiceEncoded(number, prompt):
                self._take(number, VoiceCall).future.set_result(prompt)
                self.served += 1
            case _:
                raise ProtocolError(f"{type(message).__name__} is said by no host")

    def _hear(self, number: int, part: SpeechChunk) -> None:
        with self._lock:
            call = self._calls.get(number)
        if call is None:
            return  # cancelled while they were on their way
        if not isinstance(call, SpeechCall) or call.on_audio is None:
            raise ProtocolError(f"samples for call {number}, which listens to none")
        call.parts.append(part.pcm)
        call.on_audio(part)

    def _take(self, number: int, *kinds: type[C]) -> C:
        with self._lock:
            call = self._calls.pop(number, None)
        if not isinstance(call, kinds):
            raise ProtocolError(f"an answer to call {number}, which is not in flight, or asked for something else")
        return call

    def _end(self, complaint: str) -> None:
        reason = self._describe_end(self._complaint or complaint)
        self._outbox.put(None)
        self._channel.close()
        with self._lock:
            self.end_reason = reason
            orphans = list(self._calls.values())
            self._calls.clear()
        for call in orphans:
            call.future.set_exception(EngineDied(f"{self._host} ended: {reason}"))
        self._on_change()
