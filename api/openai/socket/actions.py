"""Actions of a protocol. Its machine decides, and uses neither a socket nor a stream."""

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
    """Find out the speech for these fields of `POST /v1/audio/speech`, then call `configured` or `refused`.

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
    """Stop the utterance at once."""


@dataclass(frozen=True, slots=True)
class Close:
    code: int
    reason: str


Action: TypeAlias = Send | SendAudio | Configure | Speak | ExtendUtterance | Stop | Close


class AwaitedMessage(enum.Enum):
    """The expected message, which decides the timeout."""

    START = "start"
    """The first message of a connection."""
    NEXT = "next"
    """The next utterance of a connection that has had one."""
    TEXT = "text"
    """More text of an utterance, which holds an engine's place meanwhile."""
    SPEECH = "speech"
    """No message: the server generates speech."""


@dataclass(frozen=True, slots=True)
class FoundVoice:
    """The voice for the fields of a request. ignored: unknown or unsupported fields."""

    model: str
    voice: str
    sample_rate_hz: int
    ignored: tuple[str, ...] = ()

    @property
    def notes(self) -> Message:
        return {"ignored": [*self.ignored]} if self.ignored else {}


@dataclass(frozen=True, slots=True)
class UtteranceOutcome:
    """The result of a complete utterance. findings: of the quality gate."""

    findings: tuple[str, ...]
    input_chars: int
    audio_s: float

    @property
    def usage(self) -> Message:
        """In the form of every protocol."""
        return {"input_chars": self.input_chars, "audio_s": round(self.audio_s, 3)}


OnStart: TypeAlias = Callable[[str], Awaitable[None]]
"""Called with the id of the stream when an engine takes it."""

OnAudio: TypeAlias = Callable[[bytes], Awaitable[None]]


class ProtocolMachine(Protocol):
    """One connection's protocol. Every method returns the actions to do now, in order."""

    def greet(self) -> list[Action]: ...

    @property
    def waiting(self) -> AwaitedMessage: ...

    def puts_off(self, message: Message) -> bool:
        """Whether the message belongs to a later utterance."""
        ...

    def receive(self, message: Message) -> list[Action]:
        """Not for a postponed message."""
        ...

    def configured(self, voice: FoundVoice) -> list[Action]: ...

    def refused(self, problem: HttpProblem) -> list[Action]:
        """The request of `Configure` is refused."""
        ...

    def started(self, request_id: str) -> list[Action]:
        """An engine has taken the utterance."""
        ...

    def audio(self, data: bytes) -> list[Action]: ...

    def done(self, outcome: UtteranceOutcome) -> list[Action]: ...

    def failed(self, problem: HttpProblem) -> list[Action]:
        """The utterance failed."""
        ...

    def timed_out(self) -> list[Action]: ...

    def retire(self, problem: HttpProblem) -> list[Action]:
        """Start no more requests. The connection closes after the current utterance."""
        ...

    def violated(self, problem: HttpProblem) -> list[Action]:
        """The message is invalid, or comes at the wrong time."""
        ...
