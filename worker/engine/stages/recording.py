"""Reference recordings as the encoders want them: checked, and at the model's rate."""

from __future__ import annotations

import numpy as np
import soxr

from worker.engine.errors import RequestRejected
from worker.engine.interface import Pcm

_MAX_RATE_HZ = 768_000
# 3 to 15 s are enough to clone a voice; a minute takes the published encoder about a gigabyte.
_MAX_DURATION_S = 60.0


def recording_at(pcm: Pcm, sample_rate_hz: int, wanted_rate_hz: int, min_samples: int) -> Pcm:
    """The samples (S,) at `wanted_rate_hz`, float32; nothing else about them is changed.

    Raises RequestRejected for what is no recording: not a vector, not finite, impossible rate, too short or long.
    """
    if pcm.ndim != 1:
        raise RequestRejected(f"a reference recording is a vector of mono samples, not of shape {pcm.shape}")
    if not 1 <= sample_rate_hz <= _MAX_RATE_HZ:
        raise RequestRejected(f"a reference recording cannot have {sample_rate_hz} samples a second")
    if not np.isfinite(pcm).all():
        raise RequestRejected("the reference recording has samples that are not finite numbers")
    if pcm.size * wanted_rate_hz < min_samples * sample_rate_hz:
        raise RequestRejected(
            f"the reference recording is too short: {pcm.size / sample_rate_hz:.3f} s, "
            f"at least {min_samples / wanted_rate_hz:.3f} s are needed"
        )
    if (duration_s := pcm.size / sample_rate_hz) > _MAX_DURATION_S:
        raise RequestRejected(
            f"the reference recording is too long: {duration_s:.1f} s, at most {_MAX_DURATION_S:.0f} s are taken"
        )
    samples = np.ascontiguousarray(pcm, dtype=np.float32)
    if sample_rate_hz == wanted_rate_hz:
        return samples
    resampled: Pcm = soxr.resample(samples, sample_rate_hz, wanted_rate_hz, quality="HQ")
    return resampled
