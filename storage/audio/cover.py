"""A cover picture as audio files take it: JPEG or PNG, its size read from its own header. Pure; decodes nothing."""

from __future__ import annotations

import base64
import struct
from dataclasses import dataclass

MAX_COVER_BYTES = 8 * 1024 * 1024
MAX_SIDE = 10_000

_PNG = b"\x89PNG\r\n\x1a\n"
_JPEG = b"\xff\xd8\xff"
_FRONT_COVER = 3

# Start-of-frame markers, whose segment holds the size; C4, C8 and CC in their range are tables and extensions.
_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_WITHOUT_LENGTH = frozenset({0x01, *range(0xD0, 0xD9)})


class CoverUnusable(ValueError):
    """The bytes are no picture that an audio file may carry; the message says why."""


@dataclass(frozen=True, slots=True)
class Cover:
    """width, height: in pixels. mime: image/jpeg or image/png."""

    data: bytes
    mime: str
    width: int
    height: int

    @property
    def codec(self) -> str:
        """FFmpeg's name."""
        return "mjpeg" if self.mime == "image/jpeg" else "png"


def read_cover(data: bytes) -> Cover:
    """Raises `CoverUnusable`."""
    if len(data) > MAX_COVER_BYTES:
        raise CoverUnusable(f"it has {len(data)} bytes; {MAX_COVER_BYTES} are the most")
    if data.startswith(_PNG):
        mime, (width, height) = "image/png", _png_size(data)
    elif data.startswith(_JPEG):
        mime, (width, height) = "image/jpeg", _jpeg_size(data)
    else:
        raise CoverUnusable("it is neither JPEG nor PNG")
    if not (1 <= width <= MAX_SIDE and 1 <= height <= MAX_SIDE):
        raise CoverUnusable(f"it claims {width} x {height} pixels")
    return Cover(data, mime, width, height)


def picture_comment(cover: Cover) -> str:
    """The value of METADATA_BLOCK_PICTURE, in which Ogg files carry a FLAC picture block."""
    mime = cover.mime.encode()
    head = struct.pack(">II", _FRONT_COVER, len(mime)) + mime + struct.pack(">I", 0)
    sizes = struct.pack(">IIIII", cover.width, cover.height, 24, 0, len(cover.data))
    return base64.b64encode(head + sizes + cover.data).decode()


def _png_size(data: bytes) -> tuple[int, int]:
    if data[12:16] != b"IHDR" or len(data) < 24:
        raise CoverUnusable("it is a PNG without a header")
    width, height = struct.unpack_from(">II", data, 16)
    return width, height


def _jpeg_size(data: bytes) -> tuple[int, int]:
    at = 2
    while at + 9 <= len(data):
        if data[at] != 0xFF:
            break
        marker = data[at + 1]
        if marker == 0xFF:
            at += 1  # filling
        elif marker in _JPEG_WITHOUT_LENGTH:
            at += 2
        elif marker in _JPEG_FRAMES:
            height, width = struct.unpack_from(">HH", data, at + 5)
            return width, height
        else:
            (length,) = struct.unpack_from(">H", data, at + 2)
            at += 2 + length
    raise CoverUnusable("it is a JPEG without a frame")
