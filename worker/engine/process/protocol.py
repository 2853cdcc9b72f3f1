"""What worker and engine host say to each other: one dataclass per message, one union per direction."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from worker.engine import errors, interface, profiles, settings
from worker.engine.errors import EngineError, StartError
from worker.engine.interface import (
    EngineInfo,
    EngineStats,
    ReferenceAudio,
    Speech,
    SpeechChunk,
    SpeechRequest,
    VoicePrompt,
)
from worker.engine.settings import EngineSettings
from worker.process.children.release import release_of


class ProtocolError(Exception):
    """A message that has no place in the conversation."""


@dataclass(frozen=True, slots=True)
class StartHost:
    """The worker's first message: the engine to build."""

    settings: EngineSettings


@dataclass(frozen=True, slots=True)
class Submit:
    """`call` numbers are the worker's own; answers carry them. is_streamed: samples are wanted as they are made."""

    call: int
    request: SpeechRequest
    is_streamed: bool = False


@dataclass(frozen=True, slots=True)
class ExtendCall:
    """See `Engine.extend`."""

    request_id: str
    text: str
    is_last: bool


@dataclass(frozen=True, slots=True)
class CancelCall:
    request_id: str


@dataclass(frozen=True, slots=True)
class EncodeVoice:
    call: int
    reference: ReferenceAudio


ToHost = StartHost | Submit | ExtendCall | CancelCall | EncodeVoice


@dataclass(frozen=True, slots=True)
class HostReady:
    info: EngineInfo


@dataclass(frozen=True, slots=True)
class HostStartFailed:
    """The host is leaving, and another one would leave as well."""

    error: StartError


@dataclass(frozen=True, slots=True)
class Heartbeat:
    stats: EngineStats


@dataclass(frozen=True, slots=True)
class SpokenPart:
    """The next chunk of a streamed call."""

    call: int
    part: SpeechChunk


@dataclass(frozen=True, slots=True)
class CallSpoken:
    """The end of a call. Of a streamed one the samples have been sent, and here are none."""

    call: int
    speech: Speech


@dataclass(frozen=True, slots=True)
class VoiceEncoded:
    call: int
    prompt: VoicePrompt


@dataclass(frozen=True, slots=True)
class CallFailed:
    call: int
    error: EngineError


FromHost = HostReady | HostStartFailed | Heartbeat | SpokenPart | CallSpoken | VoiceEncoded | CallFailed

RELEASE = release_of(errors, interface, profiles, settings, sys.modules[__name__])
"""The host's greeting."""
