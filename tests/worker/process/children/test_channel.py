"""Values survive any socket, and what is no message is refused before it costs memory."""

from __future__ import annotations

import pickle
import socket
import struct
import threading
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.threads import join_in_time
from worker.process.children.channel import (
    MAX_ARRAYS_BYTES,
    MAX_BODY_BYTES,
    Channel,
    ChannelBroken,
    ChannelClosed,
    MessageTooLarge,
)

Pair = tuple[Channel, Channel]
RELEASE = bytes(range(32))


@pytest.fixture
def pair() -> Iterator[Pair]:
    ours, its = (Channel(end) for end in socket.socketpair())
    ours.set_patience(20)
    its.set_patience(20)
    yield ours, its
    ours.close()
    its.close()


@given(
    # Lone surrogates too: a client's text may hold anything.
    body=st.recursive(
        st.none() | st.integers() | st.text(st.characters(codec=None)), lambda inner: st.lists(inner) | st.tuples(inner)
    ),
    sizes=st.lists(st.integers(0, 100_000), max_size=4),
)
def test_values_and_arrays_come_out_as_they_went_in(body: object, sizes: list[int]) -> None:
    arrays = [np.arange(size, dtype=np.float32) for size in sizes]
    ours, its = (Channel(end) for end in socket.socketpair())
    sender = threading.Thread(target=lambda: (ours.send((body, arrays)), ours.close()))
    sender.start()

    pair = its.receive()

    join_in_time(sender)
    assert isinstance(pair, tuple)
    said, came = pair
    assert said == body
    for sent, received in zip(arrays, came, strict=True):
        np.testing.assert_array_equal(sent, received)
    with pytest.raises(ChannelClosed):
        its.receive()
    its.close()


def _through(pair: Pair, value: np.ndarray) -> np.ndarray:
    sender = threading.Thread(target=pair[0].send, args=(value,))
    sender.start()
    received = pair[1].receive()
    join_in_time(sender)
    assert isinstance(received, np.ndarray)
    return received


def test_arrays_larger_than_the_socket_buffer_arrive_intact(pair: Pair) -> None:
    pcm = np.random.default_rng(0).standard_normal(3_000_000).astype(np.float32)

    assert np.array_equal(_through(pair, pcm), pcm)


@pytest.mark.parametrize("array", [np.arange(20).reshape(4, 5).T, np.arange(20)[::2], np.zeros((0, 16), np.int16)])
def test_views_and_empty_arrays_keep_values_shape_and_kind(pair: Pair, array: np.ndarray) -> None:
    received = _through(pair, array)

    assert np.array_equal(received, array)
    assert received.shape == array.shape
    assert received.dtype == array.dtype


def test_arrays_are_aligned_and_can_be_written_whatever_stands_before_them(pair: Pair) -> None:
    for length in range(9):
        pair[0].send(("x" * length, np.ones(3, np.float32), np.ones(length, np.int16), np.ones((2, 16), np.int16)))
        message = pair[1].receive()

        assert isinstance(message, tuple)
        for array in message[1:]:
            assert array.flags.aligned
            assert array.flags.writeable


def test_a_close_inside_a_message_is_the_end(pair: Pair) -> None:
    pair[0].stream.sendall(struct.pack("=QQI", 100, 0, 0) + b"{")
    pair[0].close()

    with pytest.raises(ChannelClosed):
        pair[1].receive()


@pytest.mark.parametrize(
    "said",
    [
        struct.pack("=QQI", MAX_BODY_BYTES + 1, 0, 0),
        struct.pack("=QQI", 2, MAX_ARRAYS_BYTES + 1, 1),
        struct.pack("=QQI", 2, 8, (1 << 32) - 1),
        struct.pack("=QQIQ", 8, 8, 1, 1 << 40) + bytes(16),
        struct.pack("=QQIQ", 8, 16, 1, 8) + bytes(24),
        struct.pack("=QQI", 8, 0, 0) + bytes(8),
        struct.pack("=QQI", 8, 0, 0) + b"no words",
        b"GET / HTTP/1.1\r\nHost: somewhere\r\n\r\n",
    ],
    ids=["huge", "huge arrays", "many arrays", "huge array", "bytes of no array", "zeros", "no pickle", "http"],
)
def test_what_is_no_message_is_refused(pair: Pair, said: bytes) -> None:
    pair[0].stream.sendall(said)

    with pytest.raises(ChannelBroken):
        pair[1].receive()


def test_a_pickle_cut_short_is_refused(pair: Pair) -> None:
    body = pickle.dumps(["a", "b"], protocol=5)[:-4]
    pair[0].stream.sendall(struct.pack("=QQI", len(body), 0, 0) + body + bytes(-len(body) % 8))

    with pytest.raises(ChannelBroken, match="not a message"):
        pair[1].receive()


def test_what_would_be_refused_is_not_sent(pair: Pair) -> None:
    with pytest.raises(MessageTooLarge):
        pair[0].send("x" * MAX_BODY_BYTES)
    pair[0].send("small")

    assert pair[1].receive() == "small"


def test_silence_has_its_name(pair: Pair) -> None:
    pair[1].set_patience(1)

    with pytest.raises(TimeoutError, match="silent"):
        pair[1].receive()


def test_a_greeting_of_another_release_is_no_greeting(pair: Pair) -> None:
    pair[0].greet(RELEASE)
    pair[0].greet(RELEASE[::-1])

    pair[1].meet(RELEASE)
    with pytest.raises(ChannelBroken, match="another release"):
        pair[1].meet(RELEASE)


def test_a_short_jobs_speech_is_sent_before_anybody_reads(pair: Pair) -> None:
    ours, its = pair
    three_s = np.arange(72_000, dtype=np.float32)
    ours.send(three_s)
    np.testing.assert_array_equal(its.receive(), three_s)
