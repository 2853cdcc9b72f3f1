"""How far a segment's samples reach, stretch by stretch: what a waveform is drawn of. Pure."""

from __future__ import annotations

import base64

import numpy as np

from worker.speech.audio.samples import Samples

PEAKS_PER_S = 25
"""A line of a picture every 40 ms: syllables are seen, and a minute takes two kilobytes."""

MOST_PEAKS = 2_400
"""What is longer than a minute and a half is drawn of longer stretches: the header that they stand in is bounded."""

FULL_SCALE = 255


def encoded_peaks(pcm: Samples, sample_rate_hz: int) -> str:
    """Of each of stretches of equal length the sample that is farthest from zero, as a byte, 255 for full scale.

    In base64; "" for no samples.
    """
    if not len(pcm):
        return ""
    num_peaks = min(MOST_PEAKS, -(-len(pcm) * PEAKS_PER_S // sample_rate_hz), len(pcm))
    starts = np.arange(num_peaks) * len(pcm) // num_peaks
    highest = np.maximum.reduceat(pcm, starts).astype(np.int32)
    lowest = np.minimum.reduceat(pcm, starts).astype(np.int32)
    # Rounded up: what is not silent is seen.
    peaks = -(-np.maximum(highest, -lowest) * FULL_SCALE // 32_768)
    return base64.b64encode(peaks.astype(np.uint8).tobytes()).decode()
