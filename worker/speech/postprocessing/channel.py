"""Values between a worker and its post-processors, over a socket pair of theirs alone.

A value travels as a pickle, its arrays behind it as they lie in memory, so that neither end copies samples. Both ends
are of one release on one machine, and a post-processor is the worker's own child: what it says is trusted as the worker
is.
"""

from __future__ import annotations

import pickle
import socket
import struct
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

_COUNTS = struct.Struct("=QI")
"""Bytes of the pickle, number of arrays; the size of each array follows, then the pickle, then the arrays."""
_SIZE = struct.Struct("=Q")


class ChannelClosed(ConnectionError):
    """The other end is gone."""


@dataclass(frozen=True, slots=True)
class Channel:
    """One end. Not for two threads at once.

    Every call raises `OSError` when the other end is gone; `TimeoutError`, which is one, when it is silent for longer
    than `set_patience` allows.
    """

    stream: socket.socket

    def set_patience(self, seconds: int) -> None:
        """How long a single read or write may take. By the kernel: a socket with Python's time-out reads in pieces."""
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            self.stream.setsockopt(socket.SOL_SOCKET, option, struct.pack("ll", seconds, 0))

    def send(self, value: object) -> None:
        arrays: list[memoryview] = []
        body = pickle.dumps(value, protocol=5, buffer_callback=lambda array: arrays.append(array.raw()))
        sizes = b"".join(_SIZE.pack(array.nbytes) for array in arrays)
        with _silence_named():
            self.stream.sendall(_COUNTS.pack(len(body), len(arrays)) + sizes + body)
            for array in arrays:
                if array.nbytes:
                    self.stream.sendall(array)

    def receive(self) -> object:
        """Raises `ChannelClosed` when the other end has closed."""
        body_bytes, num_arrays = _COUNTS.unpack(self._read(_COUNTS.size))
        table = self._read(num_arrays * _SIZE.size) if num_arrays else bytearray()
        sizes = [size for (size,) in _SIZE.iter_unpack(table)]
        data = memoryview(self._read(body_bytes + sum(sizes)))
        arrays: list[memoryview] = []
        start = body_bytes
        for size in sizes:
            arrays.append(data[start : start + size])
            start += size
        return pickle.loads(data[:body_bytes], buffers=arrays)  # noqa: S301  (of our own child or parent)

    def close(self) -> None:
        self.stream.close()

    def _read(self, num_bytes: int) -> bytearray:
        data = bytearray(num_bytes)
        view = memoryview(data)
        filled = 0
        while filled < num_bytes:
            with _silence_named():
                received = self.stream.recv_into(view[filled:], flags=socket.MSG_WAITALL)
            if received == 0:
                raise ChannelClosed("the other end has closed")
            filled += received
        return data


@contextmanager
def _silence_named() -> Generator[None]:
    """The kernel says of a time that ran out that the resource is temporarily unavailable."""
    try:
        yield
    except BlockingIOError as error:
        raise TimeoutError("the other end is silent") from error
