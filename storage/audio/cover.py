"""A cover picture as audio files take it: a whole JPEG or PNG, its size from its own header. Pure; decodes nothing."""

from __future__ import annotations

import base64
import re
import struct
import zlib
from dataclasses import dataclass

MAX_COVER_BYTES = 8 * 1024 * 1024
MAX_SIDE = 10_000

MAX_PIECES = 10_000
"""Chunks of a PNG, or segments of a JPEG before its picture, that are looked at: in 8 MiB there could be millions."""

_PNG = b"\x89PNG\r\n\x1a\n"
_JPEG = b"\xff\xd8\xff"
_FRONT_COVER = 3
_PNG_HEADER_BYTES = 13

# Start-of-frame markers, whose segment holds the size; C4, C8 and CC in their range are tables and extensions.
_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_WITHOUT_LENGTH = frozenset({0x01, *range(0xD0, 0xD9)})
_JPEG_FILLING = re.compile(rb"\xff+")
_JPEG_FRAME_BYTES = 8
_JPEG_SCAN = 0xDA
_JPEG_END = b"\xff\xd9"


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
    """Of a PNG whose pieces are all there, from the header over the picture to the end."""
    at, kinds = len(_PNG), set[bytes]()
    for _ in range(MAX_PIECES):
        if at + 12 > len(data):
            raise CoverUnusable("it is a PNG without an end")
        length, kind = struct.unpack_from(">I4s", data, at)
        end = at + 12 + length
        if end > len(data) or zlib.crc32(data[at + 4 : end - 4]) != int.from_bytes(data[end - 4 : end], "big"):
            raise CoverUnusable("it is a PNG with a damaged piece")
        if (kind == b"IHDR") != (at == len(_PNG)) or (kind == b"IHDR" and length != _PNG_HEADER_BYTES):
            raise CoverUnusable("it is a PNG without a header")
        kinds.add(kind)
        at = end
        if kind == b"IEND":
            break
    if not {b"IDAT", b"IEND"} <= kinds:
        raise CoverUnusable("it is a PNG without a picture")
    width, height = struct.unpack_from(">II", data, len(_PNG) + 8)
    return width, height


def _jpeg_size(data: bytes) -> tuple[int, int]:
    """Of a JPEG that has a frame, a scan after it, and an end."""
    size: tuple[int, int] | None = None
    at = 2
    for _ in range(MAX_PIECES):
        filling = _JPEG_FILLING.match(data, at)
        if filling is None or filling.end() + 3 > len(data):
            break
        marker, at = data[filling.end()], filling.end() + 1
        if marker in _JPEG_WITHOUT_LENGTH:
            continue
        (length,) = struct.unpack_from(">H", data, at)
        if length < 2 or at + length > len(data):
            break
        if marker in _JPEG_FRAMES and length >= _JPEG_FRAME_BYTES:
            height, width = struct.unpack_from(">HH", data, at + 3)
            size = width, height
        if marker == _JPEG_SCAN:
            if size is None or data.find(_JPEG_END, at + length) < 0:
                break
            return size
        at += length
    raise CoverUnusable("it is a JPEG without a picture" if size else "it is a JPEG without a frame")
