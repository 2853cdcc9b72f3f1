"""Frames over a stream socket: 4 bytes big-endian header length, a JSON header, the raw bytes of the arrays.

The header states dtype and shape of each array, and so the length of what follows. Both ends are of one release on
one machine, so byte order is the machine's. Knows numpy and sockets, no message.
"""

from __future__ import annotations

import json
import math
import socket
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32] | NDArray[np.int16]

MAX_HEADER_BYTES = 4 * 1024 * 1024
MAX_PAYLOAD_BYTES = 512 * 1024 * 1024
"""Room for 90 minutes of samples. What is larger is a broken stream, and reading it would eat the memory."""

_LENGTH = struct.Struct(">I")
_MAX_DIMENSIONS = 4


class FramingError(Exception):
    """The stream does not hold frames; nothing after this point can be trusted."""


@dataclass(frozen=True, slots=True)
class Frame:
    """`body` is JSON; it refers to arrays by their index."""

    body: Mapping[str, object]
    arrays: tuple[Array, ...] = ()


def write_frame(stream: socket.socket, frame: Frame) -> None:
    """Blocks until the kernel has all of it. Not for two threads at once. Raises OSError, FramingError if too large."""
    arrays = [np.ascontiguousarray(array) for array in frame.arrays]
    shapes = [{"dtype": array.dtype.name, "shape": array.shape} for array in arrays]
    header = json.dumps({"body": frame.body, "arrays": shapes}, separators=(",", ":")).encode("ascii")
    if len(header) > MAX_HEADER_BYTES:
        raise FramingError(f"a header of {len(header)} bytes; at most {MAX_HEADER_BYTES} are sent")
    _bounded_payload(sum(array.nbytes for array in arrays))
    stream.sendall(_LENGTH.pack(len(header)) + header)
    for array in arrays:
        stream.sendall(array.data.cast("B") if array.size else b"")


def read_frame(stream: socket.socket) -> Frame | None:
    """The next frame, or None when the other end has closed between frames. Raises FramingError, OSError."""
    head = _read(stream, _LENGTH.size, at_boundary=True)
    if head is None:
        return None
    (header_bytes,) = _LENGTH.unpack(head)
    if header_bytes > MAX_HEADER_BYTES:
        raise FramingError(f"a header of {header_bytes} bytes; at most {MAX_HEADER_BYTES} are read")
    body, shapes = _parse_header(_read_all(stream, header_bytes))
    _bounded_payload(sum(dtype.itemsize * math.prod(shape) for dtype, shape in shapes))
    return Frame(body, tuple(_read_array(stream, dtype, shape) for dtype, shape in shapes))


def _bounded_payload(payload_bytes: int) -> None:
    if payload_bytes > MAX_PAYLOAD_BYTES:
        raise FramingError(f"arrays of {payload_bytes} bytes; a frame holds at most {MAX_PAYLOAD_BYTES}")


def _parse_header(header: bytearray) -> tuple[Mapping[str, object], list[tuple[np.dtype, tuple[int, ...]]]]:
    try:
        parsed = json.loads(header)
        body, entries = parsed["body"], parsed["arrays"]
        shapes = [(_dtype(entry["dtype"]), _shape(entry["shape"])) for entry in entries]
    except (ValueError, KeyError, TypeError) as error:
        raise FramingError(f"not a header: {error!r}") from error
    if not isinstance(body, dict):
        raise FramingError("the header's body should be an object")
    return cast("dict[str, object]", body), shapes


def _dtype(name: object) -> np.dtype:
    if name not in ("float32", "int16"):
        raise FramingError(f"arrays of {name!r} are not sent")
    return np.dtype(name)


def _shape(sizes: Sequence[object]) -> tuple[int, ...]:
    shape = tuple(size for size in sizes if isinstance(size, int) and size >= 0)
    if len(shape) != len(sizes) or len(shape) > _MAX_DIMENSIONS:
        raise FramingError(f"not a shape: {sizes!r}")
    return shape


def _read_array(stream: socket.socket, dtype: np.dtype, shape: tuple[int, ...]) -> Array:
    data = _read_all(stream, dtype.itemsize * math.prod(shape))
    return np.frombuffer(data, dtype).reshape(shape)


def _read_all(stream: socket.socket, num_bytes: int) -> bytearray:
    data = _read(stream, num_bytes, at_boundary=False)
    assert data is not None  # noqa: S101  (inside a frame the end of the stream raises)
    return data


def _read(stream: socket.socket, num_bytes: int, *, at_boundary: bool) -> bytearray | None:
    data = bytearray(num_bytes)
    view = memoryview(data)
    filled = 0
    while filled < num_bytes:
        received = stream.recv_into(view[filled:])
        if received == 0:
            if at_boundary and filled == 0:
                return None
            raise FramingError(f"the stream ended inside a frame, after {filled} of {num_bytes} bytes")
        filled += received
    return data
