"""The sound of a quiet room, so that a pause is no digital silence: a noise that is softer the higher it is. Pure.

It lies under everything, speech included, so that there is no step where a pause begins. It comes again after some
seconds, without a seam, which nobody hears so far below speech.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from worker.speech.audio.samples import FULL_SCALE

PERIOD_S = 11.0
LOWEST_HZ, SOFTER_FROM_HZ = 60.0, 300.0
"""Below the one there is next to nothing; from the other on, half the level with each octave."""

Signal = NDArray[np.float32]


class RoomTone:
    """Of one file: equal seeds give equal samples."""

    def __init__(self, level_db: float, sample_rate_hz: int, seed: int) -> None:
        """level_db: RMS, of full scale."""
        num = round(PERIOD_S * sample_rate_hz)
        spectrum = np.fft.rfft(np.random.default_rng(seed).standard_normal(num))
        frequencies = np.fft.rfftfreq(num, 1 / sample_rate_hz)
        high_pass = frequencies**2 / (frequencies**2 + LOWEST_HZ**2)
        sound = np.fft.irfft(spectrum * high_pass / np.sqrt(1 + (frequencies / SOFTER_FROM_HZ) ** 2), num)
        scale = FULL_SCALE * 10 ** (level_db / 20) / np.sqrt(np.square(sound).mean())
        self._period = (scale * sound).astype(np.float32)
        self._place = 0

    def next(self, num_samples: int) -> Signal:
        """On the scale of 16-bit integers."""
        places = (self._place + np.arange(num_samples)) % len(self._period)
        self._place = (self._place + num_samples) % len(self._period)
        return self._period[places]
