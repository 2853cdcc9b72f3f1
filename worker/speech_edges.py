"""The edges of a segment: silence taken off, the cut made inaudible. Pure."""

from __future__ import annotations

import numpy as np

from worker.engine.interface import Pcm

WINDOW_S = 0.01
"""Length over which energy is measured."""

KEEP_S = 0.03
"""What stays of the silence on either side: soft consonants begin below any threshold."""

FADE_S = 0.005

RELATIVE_THRESHOLD = 0.01
"""A window counts as speech from 40 dB below the segment's loudest one."""

SILENCE_RMS = 1e-4
"""If the loudest window is below -80 dB of full scale there is nothing to measure against; no trim."""


def finish_edges(pcm: Pcm, sample_rate_hz: int) -> Pcm:
    """A copy without leading and trailing silence (30 ms of each stay), faded in and out over 5 ms.

    pcm: float32 (N,). Never shorter than the loudest window; a segment of silence keeps its length.
    """
    first, last = _speech_range(pcm, sample_rate_hz)
    trimmed = pcm[first:last].copy()
    num_fade = min(round(FADE_S * sample_rate_hz), len(trimmed) // 2)
    if num_fade:
        ramp = (0.5 - 0.5 * np.cos(np.pi * (np.arange(num_fade) + 0.5) / num_fade)).astype(np.float32)
        trimmed[:num_fade] *= ramp
        trimmed[-num_fade:] *= ramp[::-1]
    return trimmed


def _speech_range(pcm: Pcm, sample_rate_hz: int) -> tuple[int, int]:
    """First sample and end of what is kept."""
    window = max(1, round(WINDOW_S * sample_rate_hz))
    starts = np.arange(0, len(pcm), window)
    if not len(starts):
        return 0, 0
    counts = np.minimum(window, len(pcm) - starts)
    rms = np.sqrt(np.add.reduceat(np.square(pcm), starts) / counts)
    loudest = float(rms.max())
    if loudest < SILENCE_RMS:
        return 0, len(pcm)
    voiced = np.flatnonzero(rms >= loudest * RELATIVE_THRESHOLD)
    keep = round(KEEP_S * sample_rate_hz)
    return max(0, int(voiced[0]) * window - keep), min(len(pcm), (int(voiced[-1]) + 1) * window + keep)
