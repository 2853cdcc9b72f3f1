"""16-bit mono PCM and the WAV file around it. Pure."""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

from worker.engine.interface import Pcm

Samples = NDArray[np.int16]
"""Mono 16-bit samples, shape (N,)."""

HEADER_BYTES = 44
BYTES_PER_SAMPLE = 2
MAX_SAMPLES = (0xFFFFFFFF - HEADER_BYTES + 8) // BYTES_PER_SAMPLE
"""RIFF sizes have 32 bits: about 24 hours at 24 kHz."""

FULL_SCALE = 32767


class WavTooLong(ValueError):
    """More samples than a WAV file can say."""


class NotFinite(ValueError):
    """The PCM holds NaN or infinity."""


def to_samples(pcm: Pcm) -> Samples:
    """Float PCM to 16 bits: times 32767 in float32, rounded half to even, clipped to [-32768, 32767].

    Raises `NotFinite`: casting NaN to an integer would put an arbitrary click into the audio.
    """
    if not np.isfinite(pcm).all():
        raise NotFinite("the engine returned samples that are not finite")
    scaled = pcm * np.float32(FULL_SCALE)
    np.rint(scaled, out=scaled)
    return np.clip(scaled, -FULL_SCALE - 1, FULL_SCALE, out=scaled).astype(np.int16)


def to_bytes(samples: Samples) -> bytes:
    """Little-endian, whatever the machine."""
    return samples.astype("<i2").tobytes()


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
