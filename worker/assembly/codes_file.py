"""The codec frames of all segments as one safetensors file, from which the audio can be made again.

    codes            I16 (T, Q)    all frames
    segment_offsets  I64 (S + 1,)  segment s is rows [s] up to [s + 1]

Frames wait in a temporary file: their number stands in the header, and memory holds one segment's.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from typing import IO

import numpy as np

from worker.assembly.audio.scratch import scratch_errors
from worker.engine.interface import CodecFrames

CODES_FORMAT = 1
PIECE_BYTES = 1024 * 1024

_LENGTH = struct.Struct("<Q")


class CodesFile:
    """Frames go in segment by segment; `pieces` gives the file."""

    def __init__(self, scratch: IO[bytes]) -> None:
        """scratch: an empty file, in which the frames wait."""
        self._offsets = [0]
        self._num_codebooks = 0
        self.has_codes = False
        """Whether the model has any."""
        self._scratch = scratch

    @property
    def num_frames(self) -> int:
        return self._offsets[-1]

    def add(self, codes: CodecFrames) -> None:
        """codes: int16 (T, Q), Q the same for all that hold any. Raises `StoreUnavailable` on a full disk."""
        if len(codes) and self.num_frames and codes.shape[1] != self._num_codebooks:
            raise ValueError(f"frames of {codes.shape[1]} codes after frames of {self._num_codebooks}")
        self.has_codes |= codes.shape[1] > 0
        if len(codes):
            self._num_codebooks = codes.shape[1]
        self._offsets.append(self._offsets[-1] + len(codes))
        with scratch_errors():
            self._scratch.write(codes.astype("<i2").tobytes())

    def pieces(self, model: str, revision: str) -> Iterator[bytes]:
        """The whole file. Raises `StoreUnavailable` on a full disk."""
        offsets = np.array(self._offsets, "<i8").tobytes()
        yield self._head(model, revision, len(offsets))
        yield offsets
        with scratch_errors():
            self._scratch.seek(0)
        while piece := self._scratch.read(PIECE_BYTES):
            yield piece

    def _head(self, model: str, revision: str, num_offset_bytes: int) -> bytes:
        end = num_offset_bytes + 2 * self.num_frames * self._num_codebooks
        table = {
            "__metadata__": {"codes": json.dumps({"format": CODES_FORMAT, "model": model, "revision": revision})},
            # The larger items first, so that both are aligned.
            "segment_offsets": _entry("I64", [len(self._offsets)], 0, num_offset_bytes),
            "codes": _entry("I16", [self.num_frames, self._num_codebooks], num_offset_bytes, end),
        }
        head = json.dumps(table, separators=(",", ":")).encode()
        head += b" " * (-len(head) % 8)
        return _LENGTH.pack(len(head)) + head


def _entry(dtype: str, shape: list[int], start: int, end: int) -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}
