"""Intervals between pitches, and which are too wide. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator

from worker.speech.quality.findings import Defect, SpeechFinding


def semitones_between(pitch_hz: float, norm_hz: float) -> float:
    return 12 * math.log2(pitch_hz / norm_hz)


def wrong_pitch(pitch_hz: float | None, norm_hz: float | None, most: float) -> Iterator[SpeechFinding]:
    """most: semitones up or down. Nothing where either pitch is not known."""
    if pitch_hz is not None and norm_hz is not None:
        semitones = semitones_between(pitch_hz, norm_hz)
        if abs(semitones) > most:
            yield SpeechFinding(Defect.WRONG_PITCH, semitones, math.copysign(most, semitones))
