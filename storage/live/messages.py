"""The messages between an API process and a worker that speaks live. Pure: bytes in, a head and its payload out.

One binary WebSocket message each: the length of the head in four bytes (little-endian), the head in JSON, the payload
as it is. Codes are 16-bit little-endian integers, frame by frame, codebook 0 first; samples 16-bit little-endian, mono.

    to the worker      open (payload: codes of the segment that goes on), extend, consumed, cancel
    from the worker    hello, opened or refused, segment, audio (payload: samples, codes), spoken, done or failed, load

Each stream is `opened` or `refused` first, and `done` or `failed` last. A cancelled stream is not answered.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from storage.live.orders import LiveOrder

PROTOCOL = 1

MAX_MESSAGE_BYTES = 4 << 20
"""The longest order has less than a megabyte of text and some kilobytes of codes."""

MAX_EXTENSION_CHARS = 65_536

FULL = "full"
"""Refused: no place is free, ask another worker."""

WORKER_LEAVING = "worker_leaving"
ENGINE_DIED = "engine_died"

RESUMABLE = frozenset({WORKER_LEAVING, ENGINE_DIED})
"""Codes of `failed` after which another worker, or the same one in a moment, can go on."""

_LENGTH = struct.Struct("<I")

StreamId = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
Code = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
Count = Annotated[int, Field(ge=0, le=2**53 - 1)]


class MessageMalformed(ValueError):
    """The bytes are no message of this protocol; says why, and nothing of what they hold."""


class _Head(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class _OfStream(_Head):
    stream: StreamId


class Resume(_Head):
    """Where a stream resumes: the first segment that was not played to its end, and how much of it was.

    num_samples_heard: all samples of that segment that came, whichever worker made them. A worker that continues from
    the prefix needs only the codes. A strict one generates the whole segment and skips the played part.
    """

    segment: Count
    num_samples_heard: Count = 0


class Open(_OfStream):
    """A new stream, or one that goes on; payload: codes of all frames of `resume.segment` that came with audio."""

    type: Literal["open"] = "open"
    order: LiveOrder
    resume: Resume | None = None


class ExtendStream(_OfStream):
    """More of an open text, in any pieces."""

    type: Literal["extend"] = "extend"
    text: str = Field(max_length=MAX_EXTENSION_CHARS)
    is_last: bool


class Consumed(_OfStream):
    """Of the stream's samples, how many the listener has taken, in all: a worker makes some seconds more and waits."""

    type: Literal["consumed"] = "consumed"
    num_samples: Count


class CancelStream(_OfStream):
    type: Literal["cancel"] = "cancel"


class Hello(_Head):
    """The first message of a connection."""

    type: Literal["hello"] = "hello"
    protocol: Literal[1] = PROTOCOL
    worker: str
    model: str
    revision: str
    sample_rate_hz: int = Field(gt=0)
    samples_per_frame: int = Field(gt=0)
    num_codebooks: Count
    live_slots: Count


class Opened(_OfStream):
    type: Literal["opened"] = "opened"


class OpenRefused(_OfStream):
    """The stream does not begin here. retry_after_s: None where asking again helps nothing."""

    type: Literal["refused"] = "refused"
    code: Code
    detail: str
    retry_after_s: float | None = None


class SegmentBegins(_OfStream):
    """A segment begins, numbered from 0 through the whole stream. text: as far as it is known."""

    type: Literal["segment"] = "segment"
    index: Count
    text: str


class Audio(_OfStream):
    """Samples to play, and the codes of `num_frames` frames of which they were made. Payload: samples, then codes.

    Silence in front of speech is left out, and pauses have no codes: either number may be 0.
    """

    type: Literal["audio"] = "audio"
    segment: Count
    num_frames: Count
    num_samples: Count


class SegmentSpoken(_OfStream):
    """A segment is over with its pause: its codes are needed no longer."""

    type: Literal["spoken"] = "spoken"
    segment: Count


class StreamDone(_OfStream):
    """The end. findings: names of defects for which speech was ended before its text was."""

    type: Literal["done"] = "done"
    findings: tuple[str, ...] = ()
    segments: Count
    num_samples: Count


class StreamFailed(_OfStream):
    type: Literal["failed"] = "failed"
    code: Code
    detail: str


class LiveLoad(_Head):
    """free: streams that may still come. step_ms: what a frame takes, None while nothing is spoken."""

    type: Literal["load"] = "load"
    free: Count
    live_slots: Count
    step_ms: float | None = None


ToWorker = Open | ExtendStream | Consumed | CancelStream
FromWorker = Hello | Opened | OpenRefused | SegmentBegins | Audio | SegmentSpoken | StreamDone | StreamFailed | LiveLoad

_TO_WORKER: TypeAdapter[ToWorker] = TypeAdapter(Annotated[ToWorker, Field(discriminator="type")])
_FROM_WORKER: TypeAdapter[FromWorker] = TypeAdapter(Annotated[FromWorker, Field(discriminator="type")])


@dataclass(frozen=True, slots=True)
class ReceivedByWorker:
    head: ToWorker
    payload: bytes


@dataclass(frozen=True, slots=True)
class ReceivedByApi:
    head: FromWorker
    payload: bytes


@dataclass(frozen=True, slots=True)
class AudioPayload:
    samples: bytes
    codes: bytes


def encode_message(head: ToWorker | FromWorker, *payload: bytes | memoryview) -> bytes:
    said = head.model_dump_json().encode()
    return b"".join((_LENGTH.pack(len(said)), said, *payload))


def decode_to_worker(message: bytes) -> ReceivedByWorker:
    """Raises `MessageMalformed`."""
    said, payload = _divided(message)
    try:
        head = _TO_WORKER.validate_json(said)
    except ValidationError as error:
        raise MessageMalformed(_reason(error)) from None
    if payload and (not isinstance(head, Open) or head.resume is None):
        raise MessageMalformed(f"{head.type} has no payload")
    return ReceivedByWorker(head, payload)


def decode_from_worker(message: bytes) -> ReceivedByApi:
    """Raises `MessageMalformed`."""
    said, payload = _divided(message)
    try:
        head = _FROM_WORKER.validate_json(said)
    except ValidationError as error:
        raise MessageMalformed(_reason(error)) from None
    if payload and not isinstance(head, Audio):
        raise MessageMalformed(f"{head.type} has no payload")
    return ReceivedByApi(head, payload)


def split_audio(head: Audio, payload: bytes, num_codebooks: int) -> AudioPayload:
    """Raises `MessageMalformed` where the payload is not as long as the head says."""
    end = 2 * head.num_samples
    if len(payload) != end + 2 * num_codebooks * head.num_frames:
        raise MessageMalformed("the payload of audio is not as long as its head says")
    return AudioPayload(payload[:end], payload[end:])


def _divided(message: bytes) -> tuple[bytes, bytes]:
    if len(message) < _LENGTH.size:
        raise MessageMalformed("shorter than the length of a head")
    if len(message) > MAX_MESSAGE_BYTES:
        raise MessageMalformed(f"longer than {MAX_MESSAGE_BYTES} bytes")
    end = _LENGTH.size + _LENGTH.unpack_from(message)[0]
    if end > len(message):
        raise MessageMalformed("shorter than its head")
    return message[_LENGTH.size : end], message[end:]


def _reason(error: ValidationError) -> str:
    """Where the first fault is, and of what kind."""
    fault = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(str(part)[:64] for part in fault["loc"][:6])
    return f"{fault['type']} at {place or 'the head'}"
