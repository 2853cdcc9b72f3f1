"""The WAV file around 16-bit mono PCM. Pure."""

from __future__ import annotations

import struct

HEADER_BYTES = 44
BYTES_PER_SAMPLE = 2
MAX_SAMPLES = (0xFFFFFFFF - HEADER_BYTES + 8) // BYTES_PER_SAMPLE
"""RIFF sizes have 32 bits: about 24 hours at 24 kHz."""


class WavTooLong(ValueError):
    """More samples than a WAV file can say."""


def wav_header(num_samples: int, sample_rate_hz: int) -> bytes:
    """The 44 bytes before `num_samples` mono 16-bit samples, all sizes exact. Raises `WavTooLong`."""
    if num_samples > MAX_SAMPLES:
        hours = num_samples / sample_rate_hz / 3600
        raise WavTooLong(f"{hours:.1f} hours of audio do not fit into a WAV file of 4 GiB; split the text")
    num_bytes = num_samples * BYTES_PER_SAMPLE
    riff = struct.pack("<4sI4s", b"RIFF", HEADER_BYTES - 8 + num_bytes, b"WAVE")
    rate = sample_rate_hz * BYTES_PER_SAMPLE
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, sample_rate_hz, rate, BYTES_PER_SAMPLE, 16)
    return riff + form + struct.pack("<4sI", b"data", num_bytes)


def num_pause_samples(pause_s: float, sample_rate_hz: int) -> int:
    return round(pause_s * sample_rate_hz)
