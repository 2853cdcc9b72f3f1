"""What a listener of a job hears of a segment, or of a part of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PlayedSegment:
    """pcm: 16-bit samples, little-endian. num_gap: samples of silence after them."""

    pcm: bytes
    num_gap: int
    sample_rate_hz: int
