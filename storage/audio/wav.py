"""The WAV file around 16-bit mono PCM, and RF64, its successor beyond 4 GiB (EBU Tech 3306). Pure."""

from __future__ import annotations

import struct

HEADER_BYTES = 44
RF64_HEADER_BYTES = 80
BYTES_PER_SAMPLE = 2
MAX_SAMPLES = (0xFFFFFFFF - HEADER_BYTES + 8) // BYTES_PER_SAMPLE
"""RIFF sizes have 32 bits: about 24 hours at 24 kHz."""

_UNKNOWN = 0xFFFFFFFF


def wav_header(num_samples: int, sample_rate_hz: int) -> bytes:
    """What stands before so many mono 16-bit samples, all sizes exact: 44 bytes, or 80 (RF64) if they are many."""
    num_bytes = num_samples * BYTES_PER_SAMPLE
    if num_samples <= MAX_SAMPLES:
        return _riff(HEADER_BYTES - 8 + num_bytes) + _format(sample_rate_hz) + _data(num_bytes)
    sizes = struct.pack("<4sIQQQI", b"ds64", 28, RF64_HEADER_BYTES - 8 + num_bytes, num_bytes, num_samples, 0)
    return struct.pack("<4sI4s", b"RF64", _UNKNOWN, b"WAVE") + sizes + _format(sample_rate_hz) + _data(_UNKNOWN)


def streaming_wav_header(sample_rate_hz: int) -> bytes:
    """The 44 bytes before samples whose number is not known yet: readers go on until the stream ends."""
    return _riff(_UNKNOWN) + _format(sample_rate_hz) + _data(_UNKNOWN)


def _riff(size: int) -> bytes:
    return struct.pack("<4sI4s", b"RIFF", size, b"WAVE")


def _format(sample_rate_hz: int) -> bytes:
    rate = sample_rate_hz * BYTES_PER_SAMPLE
    return struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, sample_rate_hz, rate, BYTES_PER_SAMPLE, 16)


def _data(size: int) -> bytes:
    return struct.pack("<4sI", b"data", size)
