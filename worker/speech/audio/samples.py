"""16-bit mono samples as arrays, and as the bytes of files. Pure."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from worker.engine.interface import Pcm

Samples = NDArray[np.int16]
"""Mono 16-bit samples, shape (N,)."""

FULL_SCALE = 32767


class NotFinite(ValueError):
    """The PCM holds NaN or infinity."""


def to_samples(pcm: Pcm) -> Samples:
    """Float PCM to 16 bits: times 32767 in float32, rounded half to even, clipped to [-32768, 32767].

    Raises `NotFinite`: casting NaN to an integer would put an arbitrary click into the audio.
    """
    require_finite(pcm)
    scaled = pcm * np.float32(FULL_SCALE)
    np.rint(scaled, out=scaled)
    return np.clip(scaled, -FULL_SCALE - 1, FULL_SCALE, out=scaled).astype(np.int16)


def require_finite(pcm: Pcm) -> None:
    """Raises `NotFinite`."""
    if not np.isfinite(pcm).all():
        raise NotFinite("the engine returned samples that are not finite")


def from_bytes(pcm: bytes) -> Samples:
    return np.frombuffer(pcm, "<i2").astype(np.int16, copy=False)


def to_bytes(samples: Samples) -> bytes:
    """Little-endian, whatever the machine."""
    return samples.astype("<i2").tobytes()
