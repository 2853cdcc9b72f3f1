"""Tags of M4B that FFmpeg has no name for (ISBN, publisher, series), as players read them: `----:…:ISBN`.

FFmpeg writes each under the name of an item that we never use, padded to equal length. This module replaces that item's
bytes. So no offset in the file moves.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping
from typing import IO

STAND_INS = {"show": b"tvsh", "episode_id": b"tven", "network": b"tvnn", "grouping": b"\xa9grp"}
"""Items by FFmpeg's names, with what they are called in a file."""

_MEAN = b"com.apple.iTunes"
_TEXT = 1
_NUM_HEADER = 8


class FreeformMisplaced(RuntimeError):
    """FFmpeg has not written what was expected of it."""


def stand_ins(tags: Mapping[str, str]) -> dict[str, str]:
    """What to tell FFmpeg in place of these tags, four at most."""
    if len(tags) > len(STAND_INS):
        raise ValueError(f"{len(tags)} tags, and {len(STAND_INS)} names to stand in for them")
    told = zip(STAND_INS, _items(tags), strict=False)
    return {name: "." * (len(item) - len(_atom(b"data", bytes(8))) - _NUM_HEADER) for name, item in told}


def put_in_place(file: IO[bytes], tags: Mapping[str, str]) -> None:
    """Into a finished file whose index stands in front. Raises `FreeformMisplaced`."""
    if not tags:
        return
    file.flush()
    for code, item in zip(STAND_INS.values(), _items(tags), strict=False):
        start, size = _find(file, (b"moov", b"udta", b"meta", b"ilst", code))
        if size != len(item):
            raise FreeformMisplaced(f"{code!r} has {size} bytes instead of {len(item)}")
        os.pwrite(file.fileno(), item, start)


def _items(tags: Mapping[str, str]) -> list[bytes]:
    return [
        _atom(
            b"----",
            _atom(b"mean", bytes(4) + _MEAN)
            + _atom(b"name", bytes(4) + name.encode())
            + _atom(b"data", struct.pack(">II", _TEXT, 0) + value.encode()),
        )
        for name, value in tags.items()
    ]


def _atom(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", _NUM_HEADER + len(content)) + name + content


def _find(file: IO[bytes], path: tuple[bytes, ...]) -> tuple[int, int]:
    """Where the atom that these names lead to starts, and its size. `meta` has four bytes before its own atoms."""
    start, size, inside = 0, os.fstat(file.fileno()).st_size, 0
    for name in path:
        start, size = _child(file, inside, start + size, name)
        inside = start + _NUM_HEADER + (4 if name == b"meta" else 0)
    return start, size


def _child(file: IO[bytes], start: int, end: int, name: bytes) -> tuple[int, int]:
    while start + _NUM_HEADER <= end:
        size, found = struct.unpack(">I4s", os.pread(file.fileno(), _NUM_HEADER, start))
        if not _NUM_HEADER <= size <= end - start:
            break
        if found == name:
            return start, size
        start += size
    raise FreeformMisplaced(f"the file has no {name!r} where it should be")
