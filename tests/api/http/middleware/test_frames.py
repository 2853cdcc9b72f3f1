"""Heads of frames in bytes that come in any pieces, beside those that the `websockets` library writes."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.frames import Frame, Opcode

from api.http.middleware.frames import MAX_FRAGMENTS, FrameHeads, TooManyFrames

CONTROL = (Opcode.PING, Opcode.PONG)


@st.composite
def messages(draw: st.DrawFn) -> list[Frame]:
    """Whole messages, with control frames between their fragments."""
    frames: list[Frame] = []
    for sizes in draw(
        st.lists(st.lists(st.sampled_from((0, 1, 125, 126, 70_000)), min_size=1, max_size=4), max_size=6)
    ):
        for number, length in enumerate(sizes):
            opcode = Opcode.TEXT if number == 0 else Opcode.CONT
            if draw(st.booleans()):
                frames.append(Frame(draw(st.sampled_from(CONTROL)), b"x"))
            frames.append(Frame(opcode, b"a" * length, fin=number == len(sizes) - 1))
    return frames


def brings_nothing(frame: Frame) -> bool:
    if frame.opcode in CONTROL:
        return True
    return not frame.fin or (frame.opcode is Opcode.TEXT and not frame.data)


@given(messages(), st.lists(st.integers(1, 400), max_size=20), st.integers(1, 5), st.booleans())
def test_frames_are_counted_once_in_whatever_pieces_they_come(
    frames: list[Frame], lengths: list[int], most: int, mask: bool
) -> None:
    data = b"".join(frame.serialize(mask=mask) for frame in frames)
    heads, counted, idle, held = FrameHeads(), 0, 0, b""
    ends = [0]
    for length in lengths:
        ends.append(min(len(data), ends[-1] + length))
    for start, end in pairwise([*ends, len(data)]):
        held += data[start:end]
        while held:
            cut = heads.cut(held, most)
            assert cut.num_bytes > 0
            assert cut.frames <= most
            counted, idle, held = counted + cut.frames, idle + cut.idle, held[cut.num_bytes :]

    assert counted == len(frames)
    assert idle == sum(brings_nothing(frame) for frame in frames)


def test_a_message_of_too_many_fragments_is_refused_and_the_next_one_counts_anew() -> None:
    def pieces(number: int) -> bytes:
        first = Frame(Opcode.TEXT, b"", fin=False).serialize(mask=True)
        return first + Frame(Opcode.CONT, b"", fin=False).serialize(mask=True) * (number - 1)

    heads = FrameHeads()
    for _ in range(2):
        heads.cut(pieces(MAX_FRAGMENTS), 10_000)
        heads.cut(Frame(Opcode.CONT, b"", fin=True).serialize(mask=True), 1)
    with pytest.raises(TooManyFrames, match=str(MAX_FRAGMENTS)):
        heads.cut(pieces(MAX_FRAGMENTS + 1), 10_000)
