"""Values between a worker and its own child processes, over a socket pair that no other process holds an end of.

A value travels as a pickle, its arrays after it as they lie in memory, so that neither end copies samples. Both ends
are of one release on one machine, which the greeting proves. The child belongs to the worker, so its messages are
trusted. A message of any length is read in two system calls. Each call gives up the interpreter, which a busy process's
other threads return late, and one thread reads for hundreds of slots.
"""

from __future__ import annotations

import pickle
import socket
import struct
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

MAX_BODY_BYTES = 4 * 1024 * 1024
MAX_ARRAYS_BYTES = 512 * 1024 * 1024
"""Room for 90 minutes of samples. What is larger is a broken stream, and reading it would eat the memory."""

SEND_BUFFER_BYTES = 1024 * 1024
"""Ten seconds of speech: both ends wake for each part of what does not fit. The kernel may allow less."""

_HEAD = struct.Struct("=QQI")
"""Bytes of the pickle, bytes and number of the arrays; the size of each array follows, then the pickle, then the
arrays, each filled up so that all are aligned."""
_SIZE = struct.Struct("=Q")
_ALIGNMENT = 8


class ChannelClosed(ConnectionError):
    """The other end is gone."""


class ChannelBroken(OSError):
    """What came is no message; nothing after it can be trusted."""


class MessageTooLarge(ValueError):
    """Nothing of it has been sent."""


@dataclass(frozen=True, slots=True)
class Channel:
    """One end. Not for two senders, or two receivers, at once.

    Every call raises `OSError` when the other end is gone or says what is no message; `TimeoutError`, which is one,
    when it is silent for longer than `set_patience` allows.
    """

    stream: socket.socket

    def __post_init__(self) -> None:
        self.stream.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)

    def set_patience(self, seconds: int) -> None:
        """How long a single read or write may take. By the kernel: a socket with Python's time-out reads in pieces."""
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            self.stream.setsockopt(socket.SOL_SOCKET, option, struct.pack("ll", seconds, 0))

    def greet(self, release: bytes) -> None:
        """What a child says first, before anything is unpickled. release: see `release_of`."""
        with _silence_named():
            self.stream.sendall(release)

    def meet(self, release: bytes) -> None:
        """The worker's side of `greet`. Raises `ChannelBroken` where the child is of another release."""
        if bytes(self._read(len(release))) != release:
            raise ChannelBroken("it is of another release")

    def send(self, value: object) -> None:
        """Raises `MessageTooLarge`."""
        arrays: list[memoryview] = []
        body = pickle.dumps(value, protocol=5, buffer_callback=lambda array: arrays.append(array.raw()))
        sizes = [array.nbytes for array in arrays]
        arrays_bytes = sum(_aligned(size) for size in sizes)
        if len(body) > MAX_BODY_BYTES or arrays_bytes > MAX_ARRAYS_BYTES:
            raise MessageTooLarge(f"a message of {len(body)} bytes, and {arrays_bytes} of arrays")
        head = _HEAD.pack(len(body), arrays_bytes, len(arrays)) + b"".join(map(_SIZE.pack, sizes))
        parts: list[bytes | memoryview] = [head, body, bytes(-len(body) % _ALIGNMENT)]
        for array in arrays:
            parts += (array, bytes(-array.nbytes % _ALIGNMENT))
        self._write(parts)

    def receive(self) -> object:
        """Raises `ChannelClosed` when the other end has closed. Arrays share the memory of their message."""
        body_bytes, arrays_bytes, num_arrays = _HEAD.unpack(self._read(_HEAD.size))
        table_bytes = num_arrays * _SIZE.size
        if body_bytes + table_bytes > MAX_BODY_BYTES or arrays_bytes > MAX_ARRAYS_BYTES:
            raise ChannelBroken(f"a message of {body_bytes} bytes, and {num_arrays} arrays of {arrays_bytes}")
        arrays_start = table_bytes + _aligned(body_bytes)
        data = self._read(arrays_start + arrays_bytes)
        sizes = [size for (size,) in _SIZE.iter_unpack(data[:table_bytes])]
        return _unpickled(data[table_bytes : table_bytes + body_bytes], _divided(data[arrays_start:], sizes))

    def close(self) -> None:
        self.stream.close()

    def _write(self, parts: Sequence[bytes | memoryview]) -> None:
        with _silence_named():
            sent = self.stream.sendmsg(parts)
            # The kernel takes all at once, unless a signal or the patience cuts it short.
            for part in parts:
                if sent < len(part):
                    self.stream.sendall(memoryview(part)[sent:])
                sent = max(0, sent - len(part))

    def _read(self, num_bytes: int) -> memoryview:
        view = np.empty(num_bytes, np.uint8).data  # without the zeros of a `bytearray`
        filled = 0
        while filled < num_bytes:
            with _silence_named():
                received = self.stream.recv_into(view[filled:], flags=socket.MSG_WAITALL)
            if received == 0:
                raise ChannelClosed("the other end has closed")
            filled += received
        return view


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _divided(data: memoryview, sizes: Sequence[int]) -> list[memoryview]:
    if sum(_aligned(size) for size in sizes) != len(data):
        raise ChannelBroken(f"arrays of {sizes} bytes were announced in {len(data)}")
    starts = accumulate(map(_aligned, sizes), initial=0)
    return [data[start : start + size] for start, size in zip(starts, sizes, strict=False)]


def _unpickled(body: memoryview, arrays: Sequence[memoryview]) -> object:
    try:
        return pickle.loads(body, buffers=arrays)  # noqa: S301  (of our own child or parent)
    except Exception as error:  # damaged bytes may make it raise anything
        raise ChannelBroken(f"not a message: {error!r}") from error


@contextmanager
def _silence_named() -> Generator[None]:
    """The kernel says of a time that ran out that the resource is temporarily unavailable."""
    try:
        yield
    except BlockingIOError as error:
        raise TimeoutError("the other end is silent") from error
