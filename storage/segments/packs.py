"""Segments of one job that were finished together, as one object: an index, and after it their files. Pure.

    4096 bytes   the index as JSON, filled up with spaces: what is where, read without knowing how long it is
    the rest     the files of the segments, in the order of the index

A job's record knows where each of its segments lies, and reads that stretch alone. The index is for who finds a pack
without a record: its digests say whether a segment is as it was written.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import TypeAdapter, ValidationError

PACK_FORMAT = 1
INDEX_BYTES = 4096

MAX_SEGMENTS = 16
"""An entry of the index takes at most 170 bytes, so that all of them fit."""

# Far beyond any number that is written, and few enough to be read in no time.
_MOST_DIGITS = 1000


class PackFormatError(ValueError):
    """The bytes are no index that this version can read."""


@dataclass(frozen=True, slots=True)
class PackName:
    """What one pack of a job is called: the lowest and the highest of its segments, and the fence of the lowest.

    No other pack has it, because a lease stores its segment in one pack at most.
    """

    first: int
    fence: int
    last: int


@dataclass(frozen=True, slots=True)
class PackPlace:
    """Where one segment lies. offset: in bytes from the pack's beginning."""

    pack: PackName
    offset: int
    num_bytes: int


@dataclass(frozen=True, slots=True)
class PackedSegment:
    """One entry of an index. sha256: of the segment's file."""

    index: int
    fence: int
    offset: int
    num_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Pack:
    """A pack to be stored. segments: in the order in which they were given."""

    name: PackName
    data: bytes
    segments: tuple[PackedSegment, ...]


@dataclass(frozen=True, slots=True)
class _Index:
    format: int
    segments: tuple[PackedSegment, ...]


_INDEX = TypeAdapter(_Index)


def encode_pack(files: Sequence[tuple[int, int, bytes]]) -> Pack:
    """Of the index, the fence and the file of each segment, `MAX_SEGMENTS` at most. Equal ones give equal bytes."""
    if not 0 < len(files) <= MAX_SEGMENTS:
        raise ValueError(f"a pack of {len(files)} segments")
    offset = INDEX_BYTES
    entries: list[PackedSegment] = []
    for index, fence, data in files:
        entries.append(PackedSegment(index, fence, offset, len(data), hashlib.sha256(data).hexdigest()))
        offset += len(data)
    index = _INDEX.dump_json(_Index(PACK_FORMAT, tuple(entries))).ljust(INDEX_BYTES)
    if len(index) > INDEX_BYTES:
        raise ValueError(f"an index of {len(index)} bytes")
    first = min(entries, key=lambda entry: (entry.index, entry.fence))
    name = PackName(first.index, first.fence, max(entry.index for entry in entries))
    return Pack(name, b"".join((index, *(data for _, _, data in files))), tuple(entries))


def decode_index(data: bytes) -> tuple[PackedSegment, ...]:
    """Of the first `INDEX_BYTES` of a pack. Raises `PackFormatError`."""
    try:
        index = _INDEX.validate_json(data, strict=True)
    except ValidationError as error:
        raise PackFormatError(f"no readable index: {error}") from error
    if index.format != PACK_FORMAT:
        raise PackFormatError(f"unknown pack format {index.format}")
    return index.segments


def encode_place(place: PackPlace) -> str:
    """Five numbers with dots between them."""
    pack = place.pack
    return f"{pack.first}.{pack.fence}.{pack.last}.{place.offset}.{place.num_bytes}"


def decode_place(text: str) -> PackPlace:
    """Raises `PackFormatError`."""
    parts = text.split(".", maxsplit=5)
    if len(parts) != 5 or not all(
        0 < len(part) <= _MOST_DIGITS and part.isascii() and part.isdigit() for part in parts
    ):
        raise PackFormatError(f"no place in a pack: {text[:100]!r}")
    first, fence, last, offset, num_bytes = map(int, parts)
    return PackPlace(PackName(first, fence, last), offset, num_bytes)
