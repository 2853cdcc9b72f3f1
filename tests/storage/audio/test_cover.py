"""A cover's size is read from its header, and nothing that is no picture passes."""

from __future__ import annotations

import contextlib
import struct
import sys
import zlib
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.audio.cover import MAX_COVER_BYTES, MAX_PIECES, CoverUnusable, read_cover


def piece(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(width: int, height: int, *others: bytes) -> bytes:
    header = piece(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    rows = zlib.compress((b"\0" + bytes(3 * 640)) * 480)
    return b"\x89PNG\r\n\x1a\n" + header + b"".join(others) + piece(b"IDAT", rows) + piece(b"IEND", b"")


PNG = png(640, 480)
JPEG = (
    b"\xff\xd8"
    + b"\xff\xe0"
    + struct.pack(">H", 16)
    + b"JFIF\0"
    + bytes(9)
    + b"\xff\xff\xc2"
    + struct.pack(">HBHH", 17, 8, 300, 200)
    + bytes(10)
    + b"\xff\xda\x00\x0c"
    + bytes(10)
    + bytes(range(200))
    + b"\xff\xd9"
)


def test_both_kinds_are_read() -> None:
    png, jpeg = read_cover(PNG), read_cover(JPEG)

    assert (png.mime, png.width, png.height, png.codec) == ("image/png", 640, 480, "png")
    assert (jpeg.mime, jpeg.width, jpeg.height, jpeg.codec) == ("image/jpeg", 200, 300, "mjpeg")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"GIF89a",
        PNG[:20],
        PNG[:30],
        PNG[:33],
        PNG[:-12],
        PNG[:200] + b"x" + PNG[201:],
        PNG.replace(piece(b"IEND", b""), piece(b"IHDR", bytes(13))),
        PNG[:33] + piece(b"IEND", b""),
        PNG[:8] + PNG[33:],
        png(2**31, 480),
        png(640, 0),
        JPEG[:12],
        JPEG[:-2],
        JPEG[: JPEG.index(b"\xff\xda")],
        JPEG[:20] + JPEG[JPEG.index(b"\xff\xda") :],
        b"\xff\xd8\xff\xd9" + bytes(20),
        JPEG + bytes(MAX_COVER_BYTES),
    ],
)
def test_what_is_no_picture_is_refused(data: bytes) -> None:
    with pytest.raises(CoverUnusable):
        read_cover(data)


@pytest.mark.parametrize(
    "data",
    [
        b"\xff" * 2 + b"\xd8" + b"\xff" * (MAX_COVER_BYTES - 3),
        b"\xff\xd8" + b"\xff\x01" * (MAX_COVER_BYTES // 2 - 1),
        b"\xff\xd8" + b"\xff\xe0\x00\x02" * (MAX_COVER_BYTES // 4 - 1),
        png(640, 480, piece(b"tEXt", b"") * (MAX_COVER_BYTES // 12 - 1_000)),
        b"\xff\xd8\xff" + b"\xff" * 1000 + b"\x01" + (b"\xff" * 1000 + b"\x01") * 8_000,
    ],
    ids=["filling", "markers", "segments", "chunks", "runs"],
)
def test_a_picture_of_millions_of_pieces_costs_few_steps(data: bytes) -> None:
    steps = 0

    def count(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal steps
        steps += 1
        return count

    assert len(data) <= MAX_COVER_BYTES
    before = sys.gettrace()
    sys.settrace(count)
    try:
        with pytest.raises(CoverUnusable):
            read_cover(data)
    finally:
        sys.settrace(before)

    assert steps < 20 * MAX_PIECES


@given(st.sampled_from([PNG, JPEG]), st.integers(0, 200), st.binary(max_size=8))
def test_damage_is_read_or_refused_but_never_crashes(data: bytes, at: int, noise: bytes) -> None:
    with contextlib.suppress(CoverUnusable):
        read_cover(data[:at] + noise + data[at + len(noise) :])
