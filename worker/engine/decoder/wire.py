"""Messages between an engine and a decoder worker as bytes. Pure. Nothing is unpickled: the network is not trusted.

The length of the head in four bytes (little-endian), the head in JSON, the arrays as they lie in memory. The head names
the class and has a value for each field; an array's value is its type and its shape.
"""

from __future__ import annotations

import json
import math
import struct
from dataclasses import dataclass, fields
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from worker.engine.decoder.protocol import (
    DecodedEnd,
    DecodedPart,
    DecoderReady,
    DropSpeech,
    EndFrames,
    OpenSpeech,
    PutFrames,
)
from worker.engine.interface import Urgency
from worker.engine.profiles import ServingProfile
from worker.process.children.channel import ChannelBroken

MAX_FRAMES_BYTES = 4 * 1024 * 1024
"""Of a message to a decoder: twelve times the codes of the longest utterance."""
MAX_SAMPLES_BYTES = 64 * 1024 * 1024
"""Of a message from a decoder: four times the samples of the longest utterance."""

_LENGTH = struct.Struct("<I")
_ALIGNMENT = 8
_CODES, _SAMPLES = ("<i2", "<i4", "<i8"), ("<f4",)
_FIELDS: dict[type, tuple[object, ...]] = {
    OpenSpeech: (int, (None, *_CODES), _CODES, Urgency, bool, bool),
    PutFrames: (int, _CODES, bool),
    EndFrames: (int, _CODES),
    DropSpeech: (int,),
    DecoderReady: (str, str, ServingProfile, int),
    DecodedPart: (int, _SAMPLES),
    DecodedEnd: (int, _SAMPLES),
}
_MESSAGES = {kind.__name__: kind for kind in _FIELDS}


@dataclass(frozen=True, slots=True)
class Codebooks:
    """What the codes of a talker must fit."""

    number: int
    size: int


def encode(message: object) -> bytes:
    arrays: list[NDArray[np.generic]] = []
    head: list[object] = [type(message).__name__]
    for value in (getattr(message, each.name) for each in fields(message)):  # pyright: ignore[reportArgumentType]
        if isinstance(value, np.ndarray):
            arrays.append(np.ascontiguousarray(value))
            head.append([value.dtype.str, value.shape])
        else:
            head.append(value.value if isinstance(value, Enum) else value)
    text = json.dumps(head).encode()
    text += b" " * (-(_LENGTH.size + len(text)) % _ALIGNMENT)
    return b"".join((_LENGTH.pack(len(text)), text, *(array.data for array in arrays)))


def decode(data: bytes, codebooks: Codebooks | None = None) -> object:
    """codebooks: of codes that come; None: none come. Raises `ChannelBroken` for what is no message."""
    try:
        (length,) = _LENGTH.unpack_from(data)
        name, *values = json.loads(data[_LENGTH.size : _LENGTH.size + length])
        kind, arrays, fitting = _MESSAGES[name], memoryview(data)[_LENGTH.size + length :], list[object]()
        for wanted, value in zip(_FIELDS[kind], values, strict=True):
            if isinstance(wanted, tuple):
                array, arrays = _array(wanted, value, arrays, codebooks)
                fitting.append(array)
            else:
                fitting.append(_plain(wanted, value))
        if arrays:
            raise ValueError("more bytes than its arrays have")
        return kind(*fitting)
    except (ValueError, TypeError, KeyError, struct.error, RecursionError) as error:
        raise ChannelBroken(f"not a message: {error!r}") from error


def _plain(wanted: object, value: object) -> object:
    if isinstance(wanted, type) and issubclass(wanted, Enum):
        return wanted(value)
    if type(value) is not wanted or (wanted is int and not 0 <= value < 2**53):  # pyright: ignore[reportOperatorIssue]
        raise ValueError(f"not {wanted}")
    return value


def _array(
    kinds: tuple[str | None, ...], described: object, data: memoryview, codebooks: Codebooks | None
) -> tuple[NDArray[np.generic] | None, memoryview]:
    """An array, and the bytes that follow it."""
    if described is None and None in kinds:
        return None, data
    kind, shape = described  # pyright: ignore[reportGeneralTypeIssues]  (what is no pair raises)
    num_bytes = math.prod(_plain(int, size) for size in shape) * np.dtype(kind).itemsize  # pyright: ignore
    if kind not in kinds or num_bytes > len(data):
        raise ValueError("an array of another kind")
    array = np.frombuffer(data[:num_bytes], dtype=kind).reshape(shape)
    if kinds == _SAMPLES and array.ndim == 1:
        return array, data[num_bytes:]
    if codebooks is None or array.ndim != 2 or array.shape[1] != codebooks.number:
        raise ValueError("codes of another codec")
    if array.size and not 0 <= array.min() <= array.max() < codebooks.size:
        raise ValueError("codes of another codec")
    return array.copy(), data[num_bytes:]
