"""A segment survives the file, and nothing else passes for one."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save

from storage.segments.file import MAX_HEADER_BYTES, SegmentFormatError, SegmentHeader
from tests.property_tests import examples
from worker.speech.audio.segment_audio import SegmentAudio, decode_segment, encode_segment

HEADER = SegmentHeader("job_1", 3, 17, "ab" * 32, 2**53 - 1, "eos", "small", "r1", 24_000)
SEGMENT = SegmentAudio(HEADER, np.arange(-50, 50, dtype=np.int16), np.arange(32, dtype=np.int16).reshape(2, 16))
FILE = encode_segment(SEGMENT)


def test_a_segment_comes_back_as_it_was() -> None:
    read = decode_segment(FILE)

    assert read.header == HEADER
    assert np.array_equal(read.pcm, SEGMENT.pcm)
    assert np.array_equal(read.codes, SEGMENT.codes)


def test_equal_segments_give_equal_bytes() -> None:
    assert encode_segment(SEGMENT) == FILE


@pytest.mark.parametrize(
    ("pcm", "codes"),
    [
        (np.zeros(4, np.float32), SEGMENT.codes),
        (np.zeros((2, 2), np.int16), SEGMENT.codes),
        (SEGMENT.pcm, np.zeros(16, np.int16)),
        (SEGMENT.pcm, np.zeros((2, 16), np.int32)),
    ],
)
def test_other_shapes_and_types_are_refused(pcm: np.ndarray, codes: np.ndarray) -> None:
    with pytest.raises(SegmentFormatError):
        SegmentAudio(HEADER, pcm, codes)


def test_other_programs_read_the_file_with_the_safetensors_library() -> None:
    facts = json.dumps(dataclasses.asdict(HEADER))

    assert save({"pcm": SEGMENT.pcm, "codes": SEGMENT.codes}, metadata={"segment": facts}) == FILE


def facts(**changes: str | int) -> dict[str, str]:
    return {"segment": json.dumps(dataclasses.asdict(HEADER) | changes)}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00" * 7,
        FILE[:-1],
        FILE + b"\x00",
        struct.pack("<Q", MAX_HEADER_BYTES + 1) + b" " * (MAX_HEADER_BYTES + 1),
        struct.pack("<Q", 2**63) + b"{}",
        save({"pcm": SEGMENT.pcm, "codes": SEGMENT.codes}),
        save({"pcm": SEGMENT.pcm}, metadata=facts()),
        save({"pcm": SEGMENT.pcm, "codes": SEGMENT.codes, "more": SEGMENT.pcm}, metadata=facts()),
        save({"pcm": SEGMENT.pcm, "codes": SEGMENT.codes}, metadata=facts(format=2)),
        save({"pcm": SEGMENT.pcm, "codes": SEGMENT.codes}, metadata=facts(index="three")),
        save({"pcm": SEGMENT.pcm, "codes": SEGMENT.codes}, metadata={"segment": "not json"}),
        save({"pcm": SEGMENT.pcm.astype(np.float32), "codes": SEGMENT.codes}, metadata=facts()),
        struct.pack("<Q", 12_000) + (b"[" * 12_000),
        struct.pack("<Q", 40) + json.dumps({"__metadata__": {"segment": 1}}).encode().ljust(40),
    ],
)
def test_what_is_not_a_segment_is_refused(data: bytes) -> None:
    with pytest.raises(SegmentFormatError):
        decode_segment(data)


@given(st.integers(0, len(FILE) - 1), st.integers(0, 7))
@settings(max_examples=examples(300), deadline=None)
def test_a_flipped_bit_is_read_or_refused_but_never_crashes(position: int, bit: int) -> None:
    damaged = bytearray(FILE)
    damaged[position] ^= 1 << bit
    with contextlib.suppress(SegmentFormatError):
        decode_segment(bytes(damaged))
