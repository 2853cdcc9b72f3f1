"""Intervals between pitches. Pure."""

from __future__ import annotations

import math


def semitones_between(pitch_hz: float, norm_hz: float) -> float:
    return 12 * math.log2(pitch_hz / norm_hz)
