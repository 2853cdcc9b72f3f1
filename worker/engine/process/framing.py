"""Frames over a stream socket: lengths of header and arrays, big-endian; a JSON header; the raw bytes of the arrays.

The header states dtype and shape of each array; spaces fill it up to eight bytes, so that arrays are aligned. A frame
is read in two calls of the kernel, however long it is: each call gives up the interpreter, which a busy process's other
threads hand back late, and one thread reads for hundreds of slots. Both ends are of one release on one machine, so the
arrays' byte order is the machine's. Knows numpy and sockets, no message.
"""

from __future__ import annotations

import json
import math
import socket
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import cast

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32] | NDArray[np.int16]

MAX_HEADER_BYTES = 4 * 1024 * 1024
MAX_PAYLOAD_BYTES = 512 * 1024 * 1024
"""Room for 90 minutes of samples. What is larger is a broken stream, and reading it would eat the memory."""

_LENGTHS = struct.Struct(">IQ")
_ALIGNMENT = 8
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
    header += b" " * (-len(header) % _ALIGNMENT)
    payload_bytes = sum(array.nbytes for array in arrays)
    _bounded("sent", len(header), payload_bytes)
    stream.sendall(_LENGTHS.pack(len(header), payload_bytes) + header)
    for array in arrays:
        stream.sendall(array.data.cast("B") if array.size else b"")


def read_frame(stream: socket.socket) -> Frame | None:
    """The next frame, or None when the other end has closed between frames. Raises FramingError, OSError.

    The arrays share the memory of the frame.
    """
    head = _read(stream, _LENGTHS.size, at_boundary=True)
    if head is None:
        return None
    header_bytes, payload_bytes = _LENGTHS.unpack(head)
    _bounded("read", header_bytes, payload_bytes)
    data = _read(stream, header_bytes + payload_bytes, at_boundary=False)
    assert data is not None  # noqa: S101  (inside a frame the end of the stream raises)
    body, shapes = _parse_header(data[:header_bytes])
    return Frame(body, _arrays(data, header_bytes, shapes))


def _bounded(done: str, header_bytes: int, payload_bytes: int) -> None:
    if header_bytes > MAX_HEADER_BYTES:
        raise FramingError(f"a header of {header_bytes} bytes; at most {MAX_HEADER_BYTES} are {done}")
    if payload_bytes > MAX_PAYLOAD_BYTES:
        raise FramingError(f"arrays of {payload_bytes} bytes; at most {MAX_PAYLOAD_BYTES} are {done}")


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


def _arrays(data: bytearray, start: int, shapes: Sequence[tuple[np.dtype, tuple[int, ...]]]) -> tuple[Array, ...]:
    """One behind the other from `start` on, to the very end of `data`."""
    ends = list(accumulate((dtype.itemsize * math.prod(shape) for dtype, shape in shapes), initial=start))
    if ends[-1] != len(data):
        raise FramingError(f"arrays of {ends[-1] - start} bytes were announced in {len(data) - start}")
    return tuple(
        np.frombuffer(data, dtype, math.prod(shape), offset).reshape(shape)
        for (dtype, shape), offset in zip(shapes, ends[:-1], strict=True)
    )


def _read(stream: socket.socket, num_bytes: int, *, at_boundary: bool) -> bytearray | None:
    data = bytearray(num_bytes)
    view = memoryview(data)
    filled = 0
    while filled < num_bytes:
        received = stream.recv_into(view[filled:], flags=socket.MSG_WAITALL)
        if received == 0:
            if at_boundary and filled == 0:
                return None
            raise FramingError(f"the stream ended inside a frame, after {filled} of {num_bytes} bytes")
        filled += received
    return data
