"""The sizes in the header of a streamed WAV, whose length is known at its end."""

from __future__ import annotations

import fcntl
import os
import stat
import struct

HEADER_BYTES = 4096
"""Bytes of the beginning that hold the sizes."""

_MOST_BYTES = 0xFFFFFFFF
_BYTES_PER_SAMPLE = 2


class WavSizes:
    """Of a file that begins at the descriptor's position. It ignores pipes, appended files and other formats."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._start = os.lseek(descriptor, 0, os.SEEK_CUR) if _can_be_mended(descriptor) else None
        self._header = b""

    def will_write(self, piece: bytes) -> None:
        """Call before the piece is written: an interrupt may come during the write."""
        self._header += piece[: HEADER_BYTES - len(self._header)]

    def mend(self) -> None:
        """Call after the last flush, also after an interrupt."""
        if self._start is None:
            return
        for offset, size in sizes(self._header, os.lseek(self._descriptor, 0, os.SEEK_CUR) - self._start):
            os.pwrite(self._descriptor, struct.pack("<I", size), self._start + offset)


def sizes(header: bytes, num_bytes: int) -> tuple[tuple[int, int], ...]:
    """Offsets and values of the sizes in a WAV of so many bytes; empty for other and too large files."""
    if header[:4] != b"RIFF" or header[8:12] != b"WAVE" or num_bytes > _MOST_BYTES:
        return ()
    chunk = 12
    while chunk + 8 <= len(header):
        name, size = header[chunk : chunk + 4], int.from_bytes(header[chunk + 4 : chunk + 8], "little")
        if name == b"data":
            data_bytes = (num_bytes - chunk - 8) // _BYTES_PER_SAMPLE * _BYTES_PER_SAMPLE
            return (4, num_bytes - 8), (chunk + 4, data_bytes)
        chunk += 8 + size + size % 2
    return ()


def _can_be_mended(descriptor: int) -> bool:
    is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
    return is_file and not fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_APPEND
