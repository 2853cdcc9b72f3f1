"""Messages between an engine and a decoder worker as bytes. Pure. Nothing is unpickled: the network is not trusted.

One message: the length of the head in four bytes (little-endian), the head in JSON, its arrays as they lie in memory.
The head names the class and has a value for each field; an array's value is its type and its shape.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable
from dataclasses import astuple, dataclass, fields
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from worker.engine.decoder.protocol import (
    DecodedEnd,
    DecodedPart,
    DecoderBeat,
    DecoderReady,
    DropSpeech,
    EndFrames,
    OpenSpeech,
    PutFrames,
)
from worker.engine.interface import Urgency
from worker.engine.profiles import ServingProfile
from worker.engine.serving.codec_lane import LaneCounters
from worker.process.children.channel import ChannelBroken

MAX_FRAMES_BYTES = 4 * 1024 * 1024
"""Of a message to a decoder: twelve times the codes of the longest utterance."""
MAX_SAMPLES_BYTES = 64 * 1024 * 1024
"""Of a message from a decoder: four times the samples of the longest utterance."""

_LENGTH = struct.Struct("<I")
_ALIGNMENT = 8
_MOST_NUMBER = 2**53


@dataclass(frozen=True, slots=True)
class Codebooks:
    """What the codes of a talker must fit."""

    number: int
    size: int


@dataclass(slots=True)
class _Payload:
    """The arrays of a message, in the order of its fields."""

    rest: memoryview
    codebooks: Codebooks | None

    def array(self, described: object, allowed: tuple[str, ...], num_axes: int) -> NDArray[np.generic]:
        kind, shape = described if isinstance(described, list) and len(described) == 2 else (None, None)
        if kind not in allowed or not isinstance(shape, list) or len(shape) != num_axes:
            raise ValueError("an array of another kind")
        sizes = [_whole(size, self) for size in shape]
        num_bytes = math.prod(sizes) * np.dtype(kind).itemsize
        if num_bytes > len(self.rest):
            raise ValueError("an array without its bytes")
        data, self.rest = self.rest[:num_bytes], self.rest[num_bytes:]
        return np.frombuffer(data, dtype=kind).reshape(sizes)


def encode(message: object) -> bytes:
    arrays: list[NDArray[np.generic]] = []
    head = [type(message).__name__, *(_plain(getattr(message, each.name), arrays) for each in fields(message))]  # pyright: ignore[reportArgumentType]
    text = json.dumps(head).encode()
    text += b" " * (-(_LENGTH.size + len(text)) % _ALIGNMENT)
    return b"".join((_LENGTH.pack(len(text)), text, *(array.data for array in arrays)))


def decode(data: bytes, codebooks: Codebooks | None = None) -> object:
    """codebooks: of codes that come. Raises `ChannelBroken` for what is no message."""
    try:
        (length,) = _LENGTH.unpack_from(data)
        name, *values = json.loads(data[_LENGTH.size : _LENGTH.size + length])
        kind, readers = _MESSAGES[name]
        payload = _Payload(memoryview(data)[_LENGTH.size + length :], codebooks)
        message = kind(*(read(value, payload) for read, value in zip(readers, values, strict=True)))
        if payload.rest:
            raise ValueError("more bytes than its arrays have")
    except (ValueError, TypeError, KeyError, struct.error, RecursionError) as error:
        raise ChannelBroken(f"not a message: {error!r}") from error
    return message


def _plain(value: object, arrays: list[NDArray[np.generic]]) -> object:
    match value:
        case np.ndarray():
            arrays.append(np.ascontiguousarray(value))
            return [value.dtype.str, value.shape]
        case Enum():
            return value.value
        case LaneCounters():
            return astuple(value)
        case _:
            return value


def _whole(value: object, _: _Payload) -> int:
    if type(value) is not int or not 0 <= value < _MOST_NUMBER:
        raise ValueError("not a whole number")
    return value


def _flag(value: object, _: _Payload) -> bool:
    if not isinstance(value, bool):
        raise TypeError("not true or false")
    return value


def _text(value: object, _: _Payload) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value


def _codes(value: object, payload: _Payload) -> NDArray[np.generic]:
    codes = payload.array(value, ("<i2", "<i4", "<i8"), 2).copy()
    most = payload.codebooks
    is_fit = most is not None and codes.shape[1] == most.number
    if not is_fit or (codes.size and not 0 <= codes.min() <= codes.max() < most.size):  # pyright: ignore[reportOptionalMemberAccess]
        raise ValueError("codes of another codec")
    return codes


def _codes_or_none(value: object, payload: _Payload) -> NDArray[np.generic] | None:
    return None if value is None else _codes(value, payload)


def _samples(value: object, payload: _Payload) -> NDArray[np.generic]:
    return payload.array(value, ("<f4",), 1)


def _counters(value: object, payload: _Payload) -> LaneCounters:
    if not isinstance(value, list) or len(value) != len(fields(LaneCounters)):
        raise ValueError("not the counters")
    return LaneCounters(*(_whole(each, payload) for each in value))


def _urgency(value: object, _: _Payload) -> Urgency:
    return Urgency(value)


def _profile(value: object, _: _Payload) -> ServingProfile:
    return ServingProfile(value)


_MESSAGES: dict[str, tuple[Callable[..., object], tuple[Callable[[object, _Payload], object], ...]]] = {
    "OpenSpeech": (OpenSpeech, (_whole, _codes_or_none, _codes, _urgency, _flag, _flag)),
    "PutFrames": (PutFrames, (_whole, _codes, _flag)),
    "EndFrames": (EndFrames, (_whole, _codes)),
    "DropSpeech": (DropSpeech, (_whole,)),
    "DecoderReady": (DecoderReady, (_text, _text, _profile, _whole)),
    "DecoderBeat": (DecoderBeat, (_counters,)),
    "DecodedPart": (DecodedPart, (_whole, _samples)),
    "DecodedEnd": (DecodedEnd, (_whole, _samples)),
}
