"""The codec frames of all segments as one safetensors file, from which the audio can be made again.

    codes            I16 (T, Q)    all frames
    segment_offsets  I64 (S + 1,)  segment s is rows [s] up to [s + 1]

Frames wait in an unnamed temporary file: their number stands in the header, and memory holds one segment's.
"""

from __future__ import annotations

import json
import struct
import tempfile
from collections.abc import Iterator

import numpy as np

from storage.errors import StoreUnavailable
from worker.engine.interface import CodecFrames

CODES_FORMAT = 1
PIECE_BYTES = 1024 * 1024

_LENGTH = struct.Struct("<Q")


class CodesFile:
    """Frames go in segment by segment; `pieces` gives the file. A context manager: leaving it drops the frames."""

    def __init__(self) -> None:
        self._offsets = [0]
        self._num_codebooks = 0
        self._file = tempfile.TemporaryFile(prefix="rhapsode-")  # noqa: SIM115 (closed by __exit__)

    def __enter__(self) -> CodesFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    @property
    def num_frames(self) -> int:
        return self._offsets[-1]

    def add(self, codes: CodecFrames) -> None:
        """codes: int16 (T, Q), Q the same for all that hold any. Raises `StoreUnavailable` on a full disk."""
        if len(codes) and self.num_frames and codes.shape[1] != self._num_codebooks:
            raise ValueError(f"frames of {codes.shape[1]} codes after frames of {self._num_codebooks}")
        if len(codes):
            self._num_codebooks = codes.shape[1]
        self._offsets.append(self._offsets[-1] + len(codes))
        try:
            self._file.write(codes.astype("<i2").tobytes())
        except OSError as error:
            raise StoreUnavailable(f"no temporary file in {tempfile.gettempdir()}: {error}") from error

    def pieces(self, model: str, revision: str) -> Iterator[bytes]:
        """The whole file."""
        offsets = np.array(self._offsets, "<i8").tobytes()
        yield self._head(model, revision, len(offsets))
        yield offsets
        self._file.seek(0)
        while piece := self._file.read(PIECE_BYTES):
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
