"""Whether a recording can be heard: finite, louder than silence, not driven into its ceiling."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from storage.audio.recording_verdict import RecordingRefused, RefusalCode

SILENCE_RMS = 1e-3
"""-60 dB of full scale: below it a recording holds noise of its microphone and no voice."""

FULL_SCALE = 0.999
"""What a 16-bit recorder makes of everything above it; lossy codecs overshoot a little."""

MAX_CLIPPED_SHARE = 0.01
"""Speech that touches the ceiling now and then is below a thousandth; beyond a hundredth it is heard as distortion."""

MAX_PEAK = 4.0
"""Files of floats can say anything; twelve decibels above full scale is no recording."""


class AudibleLoudness:
    """Counts block by block; the whole recording is never looked at twice."""

    def __init__(self) -> None:
        self._num_samples = 0
        self._num_clipped = 0
        self._num_mono = 0
        self._energy = 0.0
        self._peak = 0.0

    def add(self, block: NDArray[np.float32], mono: NDArray[np.float32]) -> None:
        """A block (N, channels) and its mean (N,). Raises `RecordingRefused` for NaN and infinity."""
        magnitude = np.abs(block)
        peak = float(magnitude.max())  # NaN if any sample is
        if not math.isfinite(peak):
            raise RecordingRefused(RefusalCode.NOT_FINITE, "the recording has samples that are not finite numbers")
        self._peak = max(self._peak, peak)
        self._num_clipped += int(np.count_nonzero(magnitude >= FULL_SCALE))
        self._num_samples += block.size
        self._num_mono += mono.size
        self._energy += float(np.square(mono, dtype=np.float64).sum())

    def require_speakable(self) -> None:
        """After the last block. Raises `RecordingRefused`."""
        if self._peak > MAX_PEAK:
            raise RecordingRefused(
                RefusalCode.CLIPPED,
                f"the recording peaks at {self._peak:.3g} times full scale; {MAX_PEAK:g} is the most",
            )
        if (share := self._num_clipped / self._num_samples) > MAX_CLIPPED_SHARE:
            raise RecordingRefused(
                RefusalCode.CLIPPED, f"{share:.0%} of the recording is clipped; record it at a lower level"
            )
        if math.sqrt(self._energy / self._num_mono) < SILENCE_RMS:
            raise RecordingRefused(RefusalCode.SILENT, "the recording is silent")
