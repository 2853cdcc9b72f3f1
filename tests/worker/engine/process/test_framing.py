"""Frames survive any stream, and a stream that is not frames is refused before it costs memory."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from worker.engine.process.framing import (
    MAX_HEADER_BYTES,
    MAX_PAYLOAD_BYTES,
    Frame,
    FramingError,
    read_frame,
    write_frame,
)

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    left, right = socket.socketpair()
    with left, right:
        left.settimeout(10)
        right.settimeout(10)
        yield left, right


def test_arrays_larger_than_the_socket_buffer_arrive_intact(pair: Pair) -> None:
    pcm = np.random.default_rng(0).standard_normal(3_000_000).astype(np.float32)
    codes = np.arange(160, dtype=np.int16).reshape(10, 16)
    writer = threading.Thread(target=write_frame, args=(pair[0], Frame({"a": 1}, (pcm, codes))))

    writer.start()
    frame = read_frame(pair[1])
    writer.join()

    assert frame is not None
    assert frame.body == {"a": 1}
    assert np.array_equal(frame.arrays[0], pcm)
    assert np.array_equal(frame.arrays[1], codes)


def test_a_view_with_strides_is_sent_as_its_values(pair: Pair) -> None:
    every_other = np.arange(20, dtype=np.int16).reshape(4, 5).T

    write_frame(pair[0], Frame({}, (every_other,)))
    frame = read_frame(pair[1])

    assert frame is not None
    assert np.array_equal(frame.arrays[0], every_other)


def test_empty_arrays_keep_their_shape(pair: Pair) -> None:
    write_frame(pair[0], Frame({}, (np.zeros((0, 16), np.int16),)))
    frame = read_frame(pair[1])

    assert frame is not None
    assert frame.arrays[0].shape == (0, 16)


def test_arrays_are_aligned_whatever_the_header_says(pair: Pair) -> None:
    for length in range(9):
        write_frame(pair[0], Frame({"text": "x" * length}, (np.ones(3, np.float32), np.ones((2, 16), np.int16))))
        frame = read_frame(pair[1])

        assert frame is not None
        assert all(array.flags.aligned for array in frame.arrays)


def test_a_close_between_frames_is_the_end(pair: Pair) -> None:
    write_frame(pair[0], Frame({"last": True}))
    pair[0].close()

    assert read_frame(pair[1]) == Frame({"last": True})
    assert read_frame(pair[1]) is None


def test_a_close_inside_a_frame_is_an_error(pair: Pair) -> None:
    pair[0].sendall(struct.pack(">IQ", 100, 0) + b"{")
    pair[0].close()

    with pytest.raises(FramingError, match="inside a frame"):
        read_frame(pair[1])


def _header(payload_bytes: int = 0, **fields: object) -> bytes:
    header = json.dumps({"body": {}, "arrays": [], **fields}).encode()
    return struct.pack(">IQ", len(header), payload_bytes) + header


@pytest.mark.parametrize(
    "sent",
    [
        struct.pack(">IQ", MAX_HEADER_BYTES + 1, 0),
        struct.pack(">IQ", 2, MAX_PAYLOAD_BYTES + 1),
        b"GET / HTTP/1.1\r\n\r\n",
        _header(arrays=[{"dtype": "float32", "shape": [1 << 40]}]),
        _header(8, arrays=[{"dtype": "float32", "shape": [1]}]) + bytes(8),
        _header(arrays=[{"dtype": "object", "shape": [1]}]),
        _header(arrays=[{"dtype": "int16", "shape": [-1]}]),
        _header(arrays=[{"dtype": "int16", "shape": [1, 1, 1, 1, 1]}]),
        _header(arrays=[{"dtype": "int16"}]),
        _header(body=[]),
        struct.pack(">IQ", 3, 0) + b"{}}",
        struct.pack(">IQ", 2, 0) + b"\xff\xff",
    ],
    ids=[
        "huge header",
        "huge arrays",
        "http",
        "huge array",
        "bytes that no array claims",
        "objects",
        "negative",
        "5-d",
        "no shape",
        "body",
        "not json",
        "not text",
    ],
)
def test_what_is_not_a_frame_is_refused(pair: Pair, sent: bytes) -> None:
    pair[0].sendall(sent)

    with pytest.raises(FramingError):
        read_frame(pair[1])


def test_what_would_be_refused_is_not_sent(pair: Pair) -> None:
    with pytest.raises(FramingError, match="header"):
        write_frame(pair[0], Frame({"text": "x" * MAX_HEADER_BYTES}))
