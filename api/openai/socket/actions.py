"""What a protocol wants done: its machines decide, and touch neither a socket nor a stream."""

from __future__ import annotations

import enum
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from pydantic import JsonValue

from api.http.problems.problem import HttpProblem

Message: TypeAlias = Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Send:
    message: Message


@dataclass(frozen=True, slots=True)
class SendAudio:
    data: bytes


@dataclass(frozen=True, slots=True)
class Configure:
    """Find out what these fields of `POST /v1/audio/speech` ask for; `configured` or `refused` is told of it.

    is_whole: the audio of an utterance is sent at its end, in one message.
    """

    fields: Message
    is_whole: bool = False


@dataclass(frozen=True, slots=True)
class Speak:
    """An utterance begins with this text; more may come."""

    text: str


@dataclass(frozen=True, slots=True)
class ExtendUtterance:
    text: str
    is_last: bool


@dataclass(frozen=True, slots=True)
class Stop:
    """Nothing more of the utterance is heard."""


@dataclass(frozen=True, slots=True)
class Close:
    code: int
    reason: str


Action: TypeAlias = Send | SendAudio | Configure | Speak | ExtendUtterance | Stop | Close


class AwaitedMessage(enum.Enum):
    """What the other side is waited for; how long depends on it."""

    START = "start"
    """The first message of a connection."""
    NEXT = "next"
    """The next utterance of a connection that has had one."""
    TEXT = "text"
    """More text of an utterance, which holds an engine's place meanwhile."""
    SPEECH = "speech"
    """Nothing: it is we who are at work."""


@dataclass(frozen=True, slots=True)
class FoundVoice:
    """What was found for the fields of a request: who speaks. ignored: fields that are unknown, or beyond the model."""

    model: str
    voice: str
    sample_rate_hz: int
    ignored: tuple[str, ...] = ()

    @property
    def told(self) -> Message:
        return {"ignored": [*self.ignored]} if self.ignored else {}


@dataclass(frozen=True, slots=True)
class UtteranceOutcome:
    """How an utterance ended by itself. findings: what the gate heard in it."""

    findings: tuple[str, ...]
    input_chars: int
    audio_s: float

    @property
    def usage(self) -> Message:
        """As every protocol tells it."""
        return {"input_chars": self.input_chars, "audio_s": round(self.audio_s, 3)}


OnStart: TypeAlias = Callable[[str], Awaitable[None]]
"""Told the name of the stream that an engine has taken."""

OnAudio: TypeAlias = Callable[[bytes], Awaitable[None]]


class ProtocolMachine(Protocol):
    """One connection's protocol. Every method answers with what is to be done now, in order."""

    def greet(self) -> list[Action]: ...

    @property
    def waiting(self) -> AwaitedMessage: ...

    def puts_off(self, message: Message) -> bool:
        """Whether the message belongs to a later utterance than the one that is being spoken."""
        ...

    def receive(self, message: Message) -> list[Action]:
        """Not for a message that is put off."""
        ...

    def configured(self, voice: FoundVoice) -> list[Action]: ...

    def refused(self, problem: HttpProblem) -> list[Action]:
        """What `Configure` asked for cannot be had."""
        ...

    def started(self, request_id: str) -> list[Action]:
        """An engine has taken the utterance."""
        ...

    def audio(self, data: bytes) -> list[Action]: ...

    def done(self, outcome: UtteranceOutcome) -> list[Action]: ...

    def failed(self, problem: HttpProblem) -> list[Action]:
        """The utterance could not be begun, or not be ended."""
        ...

    def timed_out(self) -> list[Action]: ...

    def retire(self, problem: HttpProblem) -> list[Action]:
        """No request begins here any more, for this reason. What is being spoken goes on; behind it, or now, the
        connection is closed.
        """
        ...

    def violated(self, problem: HttpProblem) -> list[Action]:
        """What came is no message of this protocol, or comes at the wrong time."""
        ...
