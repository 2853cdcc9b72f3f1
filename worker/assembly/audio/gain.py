"""Speech that is to be louder or softer than it was spoken. Pure."""

from __future__ import annotations

import numpy as np

from worker.speech.audio.limiter import limited
from worker.speech.audio.samples import FULL_SCALE, Samples

CEILING = FULL_SCALE * 10 ** (-1 / 20)
"""Which the peaks of what is made louder stay below."""


def amplified(samples: Samples, gain_db: float, sample_rate_hz: int) -> Samples:
    """The same object where nothing is to be done."""
    if gain_db == 0:
        return samples
    signal = samples.astype(np.float32) * np.float32(10 ** (gain_db / 20))
    return np.rint(limited(signal, CEILING, sample_rate_hz)).astype(np.int16)
