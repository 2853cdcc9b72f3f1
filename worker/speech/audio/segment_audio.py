"""A segment's samples and codec frames as arrays, and the file they travel in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from storage.segments import file as segment_file
from storage.segments.file import SegmentFormatError, SegmentHeader, StoredSegment
from worker.engine.interface import CodecFrames
from worker.speech.audio.samples import Samples


@dataclass(frozen=True, slots=True)
class SegmentAudio:
    """A segment's content; checked here, so that every instance can be joined with others."""

    header: SegmentHeader
    pcm: Samples
    codes: CodecFrames

    def __post_init__(self) -> None:
        if self.pcm.ndim != 1 or self.pcm.dtype != np.int16:
            raise SegmentFormatError(f"pcm is {self.pcm.dtype}{self.pcm.shape}, not int16 (N,)")
        if self.codes.ndim != 2 or self.codes.dtype != np.int16:
            raise SegmentFormatError(f"codes are {self.codes.dtype}{self.codes.shape}, not int16 (T, Q)")


def encode_segment(segment: SegmentAudio) -> bytes:
    """Equal segments give equal bytes."""
    pcm, codes = segment.pcm.astype("<i2").tobytes(), segment.codes.astype("<i2").tobytes()
    return segment_file.encode_segment(StoredSegment(segment.header, pcm, codes, segment.codes.shape[1]))


def decode_segment(data: bytes) -> SegmentAudio:
    """The arrays are views of `data`, not to be written to. Raises `SegmentFormatError`."""
    stored = segment_file.decode_segment(data)
    pcm = np.frombuffer(stored.pcm, "<i2").astype(np.int16, copy=False)
    codes = np.frombuffer(stored.codes, "<i2").astype(np.int16, copy=False)
    return SegmentAudio(stored.header, pcm, codes.reshape(stored.num_frames, stored.num_codebooks))
