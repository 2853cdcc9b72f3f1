"""The first samples of an utterance: a codec's decoder starts from silence, which makes a click. Pure.

For the small voice it is 0.0197 at the first sample and below -60 dB after 3 ms, equal in every utterance. Speech
begins 70 ms or more after it. Engines keep the click: all engines give equal samples, and a decoder that was warmed up
would give others. The search for speech skips it, and it is removed with the silence before the speech.
"""

from __future__ import annotations

import numpy as np

from worker.engine.interface import Pcm

START_S = 0.004


def without_click(pcm: Pcm, sample_rate_hz: int) -> Pcm:
    """A copy in which the decoder's start is silent."""
    silenced = pcm.copy()
    silenced[: num_start_samples(sample_rate_hz)] = np.float32(0)
    return silenced


def num_start_samples(sample_rate_hz: int) -> int:
    return round(START_S * sample_rate_hz)
