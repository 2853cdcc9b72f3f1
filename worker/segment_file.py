"""One synthesised segment as safetensors: samples, codec frames and where they come from. Pure.

    pcm    int16 (N,)    what is heard, edges finished
    codes  int16 (T, Q)  all frames as generated, from which the audio can be made again

The text itself is not in it, only its digest.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass, fields

from pydantic import TypeAdapter
from safetensors import SafetensorError
from safetensors.numpy import load, save

from worker.engine.interface import CodecFrames
from worker.wav import Samples

SEGMENT_FORMAT = 1
MAX_HEADER_BYTES = 16 * 1024


class SegmentFormatError(ValueError):
    """The bytes are not a segment this version can read."""


@dataclass(frozen=True, slots=True)
class SegmentHeader:
    """Where a segment comes from.

    text_sha256: of the UTF-8 text that was spoken. voice: the model's own by name, an uploaded one by its content key.
    """

    job: str
    index: int
    fence: int
    text_sha256: str
    seed: int
    finish_reason: str
    model: str
    revision: str
    sample_rate_hz: int
    voice: str = ""
    format: int = SEGMENT_FORMAT


@dataclass(frozen=True, slots=True)
class SegmentAudio:
    """A segment's content; checked here, so that every instance can be joined with others."""

    header: SegmentHeader
    pcm: Samples
    codes: CodecFrames

    def __post_init__(self) -> None:
        if self.pcm.ndim != 1 or self.pcm.dtype != "int16":
            raise SegmentFormatError(f"pcm is {self.pcm.dtype}{self.pcm.shape}, not int16 (N,)")
        if self.codes.ndim != 2 or self.codes.dtype != "int16":
            raise SegmentFormatError(f"codes are {self.codes.dtype}{self.codes.shape}, not int16 (T, Q)")


_HEADER = TypeAdapter(SegmentHeader)
_HEADER_FIELDS = tuple(field.name for field in fields(SegmentHeader))


def encode_segment(segment: SegmentAudio) -> bytes:
    """Equal segments give equal bytes."""
    # One entry: the library writes several in an order that differs from call to call.
    facts = {"segment": json.dumps({name: getattr(segment.header, name) for name in _HEADER_FIELDS})}
    return save({"pcm": segment.pcm, "codes": segment.codes}, metadata=facts)


def decode_segment(data: bytes) -> SegmentAudio:
    """Raises `SegmentFormatError` for anything `encode_segment` did not write."""
    header = _header(data)
    try:
        tensors = load(data)
    except (SafetensorError, KeyError, ValueError) as error:
        raise SegmentFormatError(f"not a segment: {error}") from error
    if tensors.keys() != {"pcm", "codes"}:
        raise SegmentFormatError(f"a segment holds pcm and codes, not {sorted(tensors)}")
    return SegmentAudio(header, tensors["pcm"], tensors["codes"])


def _header(data: bytes) -> SegmentHeader:
    """The length of the file's own header is checked before it is parsed."""
    if len(data) < 8:
        raise SegmentFormatError("shorter than its own length field")
    (length,) = struct.unpack_from("<Q", data)
    if length > min(MAX_HEADER_BYTES, len(data) - 8):
        raise SegmentFormatError(f"a header of {length} bytes")
    try:
        header = _HEADER.validate_json(json.loads(data[8 : 8 + length])["__metadata__"]["segment"], strict=True)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise SegmentFormatError(f"no readable header: {error}") from error
    if header.format != SEGMENT_FORMAT:
        raise SegmentFormatError(f"unknown segment format {header.format}")
    return header
