"""A WAV file that is written during a stream. It appears under its name when it is complete, with its sizes."""

from __future__ import annotations

import struct
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from rhapsode.client.live.chunks import BYTES_PER_SAMPLE, AudioChunk
from rhapsode.client.part_file import PartFile

HEADER_BYTES = 44
UNKNOWN_BYTES = 0xFFFFFFFF
"""The size in the header of a stream, and of a WAV that is too large for the field."""

_PCM, _CHANNELS, _FORMAT_BYTES = 1, 1, 16


class WavFile:
    """Samples of one rate."""

    def __init__(self, part: PartFile) -> None:
        self._part = part
        self._rate_hz: int | None = None

    def write(self, chunk: AudioChunk) -> None:
        if self._rate_hz is None:
            self._rate_hz = chunk.sample_rate_hz
            self._part.write(wav_header(chunk.sample_rate_hz, UNKNOWN_BYTES))
        self._part.write(chunk.pcm)

    def finish(self) -> None:
        """Raises `ValueError` if nothing was written."""
        if self._rate_hz is None:
            raise ValueError("a WAV without a single sample has no rate")
        self._part.overwrite_start(wav_header(self._rate_hz, self._part.num_bytes - HEADER_BYTES))
        self._part.put_in_place()


@contextmanager
def wav_file(path: Path) -> Generator[WavFile]:
    """Without `finish` no new file remains, and an existing file keeps its content."""
    with PartFile(path) as part:
        yield WavFile(part)


def wav_header(rate_hz: int, data_bytes: int) -> bytes:
    """Of 16-bit samples of one channel."""
    sized = min(data_bytes, UNKNOWN_BYTES)
    whole = min(sized + HEADER_BYTES - 8, UNKNOWN_BYTES)
    frame = _CHANNELS * BYTES_PER_SAMPLE
    layout = struct.pack("<IHHIIHH", _FORMAT_BYTES, _PCM, _CHANNELS, rate_hz, rate_hz * frame, frame, frame * 8)
    return b"RIFF" + struct.pack("<I", whole) + b"WAVEfmt " + layout + b"data" + struct.pack("<I", sized)
