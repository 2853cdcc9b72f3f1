"""The edges of a segment: silence taken off or filled up to one length, the cut made inaudible. Pure."""

from __future__ import annotations

import numpy as np

from storage.segments.timeline import num_margin_samples
from worker.engine.interface import Pcm
from worker.speech.audio.decoder_start import num_start_samples

WINDOW_S = 0.01
"""Length over which energy is measured."""

FADE_S = 0.005

RELATIVE_THRESHOLD = 0.01
"""A window counts as speech from 40 dB below the segment's loudest one."""

SILENCE_RMS = 1e-4
"""If the loudest window is below -80 dB of full scale there is nothing to measure against; no trim."""


def finish_edges(pcm: Pcm, sample_rate_hz: int) -> Pcm:
    """A copy with a margin (`timeline.MARGIN_S`) of near silence on either side of speech, its ends faded over 5 ms.

    pcm: float32 (N,). Of silence beyond the margin nothing stays; where there is less, zeros fill it up. The fade is on
    the samples given, not on the zeros. A segment of silence keeps its length. The click of a decoder's start is no
    speech; where speech is so near to it that it lies in the margin, the fade takes it away.
    """
    first, end = _speech_range(pcm, sample_rate_hz)
    kept = pcm[max(first, 0) : end].copy()
    num_fade = min(round(FADE_S * sample_rate_hz), len(kept) // 2)
    if num_fade:
        ramp = rise(num_fade)
        kept[:num_fade] *= ramp
        kept[-num_fade:] *= ramp[::-1]
    return np.pad(kept, (max(0, -first), max(0, end - len(pcm))))


def rise(num_samples: int) -> Pcm:
    """Factors of a fade in: half a cosine, from nearly 0 to nearly 1."""
    return (0.5 - 0.5 * np.cos(np.pi * (np.arange(num_samples) + 0.5) / max(1, num_samples))).astype(np.float32)


def _speech_range(pcm: Pcm, sample_rate_hz: int) -> tuple[int, int]:
    """First sample and end of speech with its margins, which may lie outside of the samples."""
    window = max(1, round(WINDOW_S * sample_rate_hz))
    starts = np.arange(0, len(pcm), window)
    if not len(starts):
        return 0, 0
    counts = np.minimum(window, len(pcm) - starts)
    squares = np.square(pcm)
    squares[: num_start_samples(sample_rate_hz)] = 0
    rms = np.sqrt(np.add.reduceat(squares, starts) / counts)
    loudest = float(rms.max())
    if loudest < SILENCE_RMS:
        return 0, len(pcm)
    voiced = np.flatnonzero(rms >= loudest * RELATIVE_THRESHOLD)
    margin = num_margin_samples(sample_rate_hz)
    speech_end = min(len(pcm), (int(voiced[-1]) + 1) * window)
    return int(voiced[0]) * window - margin, speech_end + margin
