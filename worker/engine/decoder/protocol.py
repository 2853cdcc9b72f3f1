"""What an engine and a decoder say to each other: one dataclass per message, one union per direction.

Only values pass, in order, over one connection. Numbers of requests are the engine's own. A decoder worker of another
host is loaded already: it gets no `StartDecoder`.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from worker.engine import errors, interface, profiles
from worker.engine.errors import StartError
from worker.engine.interface import CodecFrames, Pcm, Urgency
from worker.engine.profiles import ServingProfile
from worker.engine.serving import codec_lane
from worker.engine.serving.codec_lane import LaneCounters
from worker.engine.settings import DecoderAddress
from worker.process.children.release import release_of


@dataclass(frozen=True, slots=True)
class StartDecoder:
    """The first message to a decoder. num_threads: of torch, those of the engine, so that both round alike."""

    checkpoint: Path
    device: str | DecoderAddress
    profile: ServingProfile
    num_threads: int


@dataclass(frozen=True, slots=True)
class OpenSpeech:
    """A request, before its frames. The samples of `reference` and `prefix` are not sent back."""

    number: int
    reference: CodecFrames | None
    prefix: CodecFrames
    urgency: Urgency
    is_opening: bool
    is_streamed: bool


@dataclass(frozen=True, slots=True)
class PutFrames:
    """The next frames of a streamed request. text_is_open: its text is still written."""

    number: int
    frames: CodecFrames
    text_is_open: bool


@dataclass(frozen=True, slots=True)
class EndFrames:
    """All frames of a request behind its prefix."""

    number: int
    frames: CodecFrames


@dataclass(frozen=True, slots=True)
class DropSpeech:
    number: int


ToDecoder = StartDecoder | OpenSpeech | PutFrames | EndFrames | DropSpeech


@dataclass(frozen=True, slots=True)
class DecoderReady:
    """codec_digest: of the codec's files, as this process has read them. The others: what its rounding depends on."""

    codec_digest: str
    device: str
    profile: ServingProfile
    num_threads: int


@dataclass(frozen=True, slots=True)
class DecoderStartFailed:
    """The process ends, and another one would end as well."""

    error: StartError


@dataclass(frozen=True, slots=True)
class DecoderBeat:
    """Twice a second from the beginning, also while the process loads."""

    counters: LaneCounters


@dataclass(frozen=True, slots=True)
class DecodedPart:
    """The next samples of a streamed request."""

    number: int
    pcm: Pcm


@dataclass(frozen=True, slots=True)
class DecodedEnd:
    """A request is decoded. Of a streamed one the samples have been sent, and here are none."""

    number: int
    pcm: Pcm


FromDecoder = DecoderReady | DecoderStartFailed | DecoderBeat | DecodedPart | DecodedEnd

RELEASE = release_of(errors, interface, profiles, codec_lane, sys.modules[__name__])
"""The decoder's greeting."""
