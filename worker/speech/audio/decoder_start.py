"""The first samples of an utterance: a codec's decoder starts from nothing, and that is heard as a click. Pure.

Of the small voice it is 0.0197 at the first sample and below -60 dB after 3 ms, the same in every utterance; what is
spoken begins 70 ms and more behind it. What an engine gives keeps it, as samples are the same from every engine and
a decoder that was run on before its first frame would give others; it is passed over where speech is looked for, and
goes with the silence before it.
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
