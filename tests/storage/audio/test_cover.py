"""A cover's size is read from its header, and nothing that is no picture passes."""

from __future__ import annotations

import contextlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.audio.cover import MAX_COVER_BYTES, CoverUnusable, read_cover

PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sIIBBBBB", 13, b"IHDR", 640, 480, 8, 2, 0, 0, 0)
JPEG = (
    b"\xff\xd8"
    + b"\xff\xe0"
    + struct.pack(">H", 16)
    + b"JFIF\0"
    + bytes(9)
    + b"\xff\xff\xc2"
    + struct.pack(">HBHH", 17, 8, 300, 200)
    + bytes(20)
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
        PNG.replace(struct.pack(">I", 640), struct.pack(">I", 2**31)),
        PNG.replace(struct.pack(">I", 480), bytes(4)),
        JPEG[:12],
        b"\xff\xd8\xff\xd9" + bytes(20),
        JPEG + bytes(MAX_COVER_BYTES),
    ],
)
def test_what_is_no_picture_is_refused(data: bytes) -> None:
    with pytest.raises(CoverUnusable):
        read_cover(data)


@given(st.sampled_from([PNG, JPEG]), st.integers(0, 200), st.binary(max_size=8))
def test_damage_is_read_or_refused_but_never_crashes(data: bytes, at: int, noise: bytes) -> None:
    with contextlib.suppress(CoverUnusable):
        read_cover(data[:at] + noise + data[at + len(noise) :])
