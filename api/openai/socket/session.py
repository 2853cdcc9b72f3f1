"""One connection: its protocol's machine gets the messages, and the session does its actions.

One lock covers a decision and its actions, so that events keep their order: counted audio is sent, and no audio follows
a cancellation. Audio does not wait for messages, and messages do not wait for an engine.
"""

from __future__ import annotations

import asyncio
import functools
import json
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from starlette.websockets import WebSocket, WebSocketDisconnect

from api.http.json_body import parse_json
from api.http.problems.handlers import storage_problem
from api.http.problems.problem import (
    HttpProblem,
    connection_expired,
    internal,
    message_too_large,
    problem,
    text_too_slow,
)
from api.openai.socket.actions import (
    Action,
    Close,
    Configure,
    ExtendUtterance,
    FoundVoice,
    Message,
    OnAudio,
    OnStart,
    ProtocolMachine,
    Send,
    SendAudio,
    Speak,
    Stop,
    UtteranceOutcome,
)
from api.openai.socket.waits import MessageTimeouts, Waits
from rhapsode.contract.speech_socket import MAX_PIECE_BYTES, MAX_START_BYTES
from storage.errors import StorageError

logger = logging.getLogger(__name__)

STARTS = ("request.start", "session.config")

MAX_PUT_OFF = 1_000
MAX_PUT_OFF_BYTES = 256 * 1024
"""Of messages for the next utterance."""


class RunningUtterance(Protocol):
    """An utterance, see `api.openai.socket.utterance`."""

    def extend(self, text: str, *, is_last: bool) -> None: ...

    async def speak(self, on_start: OnStart, on_audio: OnAudio) -> UtteranceOutcome: ...


@dataclass(frozen=True, slots=True)
class ResolvedSpeech:
    """What the fields of a request came to. begin: an utterance, with its first text."""

    voice: FoundVoice
    begin: Callable[[str], RunningUtterance]


Resolve: TypeAlias = Callable[[Message, bool], Awaitable[ResolvedSpeech]]
"""Raises an `HttpProblem`. The flag: audio comes in one message at the end."""


@dataclass(frozen=True, slots=True)
class _Came:
    message: Message
    num_bytes: int


@dataclass(frozen=True, slots=True)
class _Wrong:
    problem: HttpProblem


@dataclass(frozen=True, slots=True)
class _Gone:
    pass


@dataclass(frozen=True, slots=True)
class _Ended:
    speaking: RunningUtterance
    outcome: UtteranceOutcome | HttpProblem


@dataclass(frozen=True, slots=True)
class _Retired:
    problem: HttpProblem


_Event: TypeAlias = _Came | _Wrong | _Gone | _Ended | _Retired


@dataclass(slots=True)
class _PutOff:
    messages: deque[_Came] = field(default_factory=deque[_Came])
    num_bytes: int = 0

    def add(self, came: _Came) -> bool:
        """Whether there was room."""
        self.messages.append(came)
        self.num_bytes += came.num_bytes
        return len(self.messages) <= MAX_PUT_OFF and self.num_bytes <= MAX_PUT_OFF_BYTES

    def take(self) -> _Came:
        came = self.messages.popleft()
        self.num_bytes -= came.num_bytes
        return came


class Session:
    """`run` serves until the connection is closed, by either side."""

    def __init__(
        self, socket: WebSocket, machine: ProtocolMachine, resolve: Resolve, patience: MessageTimeouts
    ) -> None:
        self._socket = socket
        self._machine = machine
        self._resolve = resolve
        self._patience = patience
        # It holds at most one message, so that a fast sender waits, and the end of an utterance.
        self._events: asyncio.Queue[_Event] = asyncio.Queue()
        self._may_read = asyncio.Semaphore(1)
        self._put_off = _PutOff()
        self._deciding = asyncio.Lock()
        self._asked: ResolvedSpeech | None = None
        self._speaking: RunningUtterance | None = None
        self._task: asyncio.Task[None] | None = None
        self._is_closed = False

    def retire(self, problem: HttpProblem) -> None:
        """Start no more requests. The connection closes after the current utterance."""
        self._events.put_nowait(_Retired(problem))

    async def run(self, first: str | None = None) -> None:
        """first: a message that was received already."""
        reader = asyncio.create_task(self._read(first))
        waits = Waits(self._patience, asyncio.get_running_loop().time())
        # The client may leave at any time.
        with suppress(WebSocketDisconnect):
            try:
                await self._perform(self._machine.greet)
                while not self._is_closed:
                    await self._step(waits)
            finally:
                reader.cancel()
                await asyncio.wait((reader,))
                await self._stop()

    async def _step(self, waits: Waits) -> None:
        try:
            async with asyncio.timeout(waits.left_s(self._machine.waiting, asyncio.get_running_loop().time())):
                event = await self._events.get()
        except TimeoutError:
            await self._handle_timeout(waits, asyncio.get_running_loop().time())
            return
        match event:
            case _Came():
                await self._take(event)
            case _Wrong(problem):
                await self._perform(lambda: self._machine.violated(problem))
            case _Gone():
                self._is_closed = True
            case _Ended(speaking, outcome):
                await self._end(speaking, outcome)
            case _Retired(problem):
                waits.forget_expiry()
                await self._retire(problem)

    async def _handle_timeout(self, waits: Waits, now_s: float) -> None:
        if waits.has_expired(now_s):
            waits.forget_expiry()
            await self._retire(connection_expired(self._patience.connection_s))
        elif waits.is_text_late(now_s):
            problem = text_too_slow(self._patience.whole_text_s)
            await self._perform(lambda: self._machine.violated(problem))
        else:
            await self._perform(self._machine.timed_out)

    async def _retire(self, problem: HttpProblem) -> None:
        await self._perform(lambda: self._machine.retire(problem))
        await self._take_what_was_put_off()

    async def _take(self, came: _Came) -> None:
        self._may_read.release()
        if not self._machine.puts_off(came.message):
            await self._perform(lambda: self._machine.receive(came.message))
            await self._take_what_was_put_off()
        elif not self._put_off.add(came):
            detail = "too much of the next request came before this one had ended; wait for its last event"
            await self._perform(lambda: self._machine.violated(problem("protocol_violated", detail)))

    async def _end(self, speaking: RunningUtterance, outcome: UtteranceOutcome | HttpProblem) -> None:
        if speaking is not self._speaking:
            # Stopped while it ended.
            return
        self._speaking = self._task = None
        if isinstance(outcome, HttpProblem):
            await self._perform(lambda: self._machine.failed(outcome))
        else:
            await self._perform(lambda: self._machine.done(outcome))
        await self._take_what_was_put_off()

    async def _take_what_was_put_off(self) -> None:
        while self._put_off.messages and not self._is_closed:
            if self._machine.puts_off(self._put_off.messages[0].message):
                return
            message = self._put_off.take().message
            await self._perform(functools.partial(self._machine.receive, message))

    async def _perform(self, decide: Callable[[], Sequence[Action]]) -> None:
        async with self._deciding:
            await self._carry_out(decide())

    async def _carry_out(self, actions: Sequence[Action]) -> None:
        for action in actions:
            match action:
                case Send() | SendAudio() | Close():
                    await self._say(action)
                case Configure(fields, is_whole):
                    await self._configure(fields, is_whole=is_whole)
                case Speak(text):
                    self._begin(text)
                case ExtendUtterance(text, is_last):
                    if self._speaking is not None:
                        self._speaking.extend(text, is_last=is_last)
                case Stop():
                    await self._stop()

    async def _configure(self, fields: Message, *, is_whole: bool) -> None:
        try:
            self._asked = await self._resolve(fields, is_whole)
        except HttpProblem as problem:
            await self._carry_out(self._machine.refused(problem))
            return
        await self._carry_out(self._machine.configured(self._asked.voice))

    def _begin(self, text: str) -> None:
        if self._asked is None:
            raise RuntimeError("an utterance begins before its voice is known")
        self._speaking = self._asked.begin(text)
        self._task = asyncio.create_task(self._speak(self._speaking))

    async def _stop(self) -> None:
        task, self._speaking, self._task = self._task, None, None
        if task is not None:
            task.cancel()
            await asyncio.wait((task,))

    async def _speak(self, speaking: RunningUtterance) -> None:
        async def on_start(request_id: str) -> None:
            await self._perform(lambda: self._machine.started(request_id))

        async def on_audio(data: bytes) -> None:
            await self._perform(lambda: self._machine.audio(data))

        self._events.put_nowait(await self._outcome(speaking, on_start, on_audio))

    async def _outcome(self, speaking: RunningUtterance, on_start: OnStart, on_audio: OnAudio) -> _Event:
        try:
            return _Ended(speaking, await speaking.speak(on_start, on_audio))
        except WebSocketDisconnect:
            return _Gone()
        except HttpProblem as problem:
            return _Ended(speaking, problem)
        except StorageError as error:
            return _Ended(speaking, storage_problem(error) or internal())
        except Exception:  # the end of a task: the caller gets an error, and the log the reason
            logger.exception("a live request failed")
            return _Ended(speaking, internal())

    async def _say(self, action: Send | SendAudio | Close) -> None:
        if self._is_closed:
            return
        match action:
            case Send(message):
                await self._socket.send_text(as_json(message))
            case SendAudio(data):
                await self._socket.send_bytes(data)
            case Close(code, reason):
                self._is_closed = True
                await self._socket.close(code, reason)

    async def _read(self, first: str | None) -> None:
        """Read one message at a time. The last event ends the session."""
        if first is not None:
            await self._may_read.acquire()
            self._events.put_nowait(_read_text(first))
        while True:
            await self._may_read.acquire()
            event = await self._next_message()
            self._events.put_nowait(event)
            if not isinstance(event, _Came):
                return

    async def _next_message(self) -> _Event:
        try:
            return _read_message(await self._socket.receive())
        except Exception:
            # Without an event the session would wait forever.
            logger.exception("a live connection cannot be read")
            return _Gone()


def _read_message(received: Mapping[str, object]) -> _Event:
    match received:
        case {"type": "websocket.disconnect"}:
            return _Gone()
        case {"text": str(text)}:
            return _read_text(text)
        case _:
            return _Wrong(problem("unsupported_media", "messages are JSON, as text; nothing here takes binary ones"))


def _read_text(text: str) -> _Event:
    num_bytes = len(text.encode())
    try:
        if num_bytes > MAX_START_BYTES:
            raise message_too_large(MAX_START_BYTES)
        message = parse_json(text.encode())
        if not isinstance(message, dict):
            raise problem("protocol_violated", "a message is a JSON object")
        if num_bytes > MAX_PIECE_BYTES and message.get("type") not in STARTS:
            raise message_too_large(MAX_PIECE_BYTES)
    except HttpProblem as wrong:
        return _Wrong(wrong)
    return _Came(message, num_bytes)


def as_json(message: Message) -> str:
    """In ASCII: a quoted text may hold half a surrogate pair, which UTF-8 cannot encode."""
    return json.dumps(message, separators=(",", ":"))
