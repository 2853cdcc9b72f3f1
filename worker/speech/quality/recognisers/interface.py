"""What a speech recogniser is to us, and how a recording is made ready for one."""

from __future__ import annotations

from itertools import pairwise
from typing import Protocol

import numpy as np
import soxr

from worker.engine.interface import Pcm

MAX_CLIP_S = 24.0
"""Small recognisers are trained on clips of up to half a minute, and invent words behind longer ones."""

MIN_CLIP_S = 8.0
"""A cut leaves at least this much, so that no clip is a scrap without context."""

EDGE_S = 0.15
"""Silence put at both ends: without it the first and last words suffer."""

SILENCE_PEAK = 1e-3
"""A clip that stays 60 dB below full scale is left out: recognisers invent a word for silence."""

_PAUSE_S = 0.15
"""A cut goes into the middle of the quietest stretch of this length."""

_HOP_S = 0.01


class Recogniser(Protocol):
    """Speech in, text out. An implementation says whether it may be called from several threads."""

    def transcribe(self, pcm: Pcm, sample_rate_hz: int) -> str:
        """What is said in `pcm`, float32 mono of any length; empty where nothing is said."""
        ...


def recognisable_clips(pcm: Pcm, sample_rate_hz: int, wanted_rate_hz: int) -> list[Pcm]:
    """The recording at another rate in clips of at most `MAX_CLIP_S`, cut at pauses, silence around each.

    Clips of silence are left out.
    """
    edge = np.zeros(round(EDGE_S * wanted_rate_hz), np.float32)
    samples = resampled(pcm, sample_rate_hz, wanted_rate_hz)
    places = pause_cuts(samples, wanted_rate_hz)
    clips = [samples[first:last] for first, last in pairwise(places)]
    return [np.concatenate((edge, clip, edge)) for clip in clips if np.abs(clip).max(initial=0) > SILENCE_PEAK]


def pause_cuts(pcm: Pcm, sample_rate_hz: int) -> list[int]:
    """Where the clips begin, in samples, and the recording's end: 0, cut, cut, ..., len(pcm)."""
    longest, shortest = (round(seconds * sample_rate_hz) for seconds in (MAX_CLIP_S, MIN_CLIP_S))
    places = [0]
    while len(pcm) - places[-1] > longest:
        start = places[-1]
        # Both sides of the cut keep the shortest length.
        latest = min(start + longest, len(pcm) - shortest)
        places.append(_quietest(pcm, start + shortest, latest, sample_rate_hz))
    return [*places, len(pcm)]


def resampled(pcm: Pcm, from_hz: int, to_hz: int) -> Pcm:
    return pcm if from_hz == to_hz else soxr.resample(pcm, from_hz, to_hz).astype(np.float32)


def _quietest(pcm: Pcm, first: int, last: int, sample_rate_hz: int) -> int:
    """The middle of the quietest stretch of `_PAUSE_S` in [first, last)."""
    hop, length = round(_HOP_S * sample_rate_hz), round(_PAUSE_S * sample_rate_hz)
    energy = np.concatenate(([0.0], np.cumsum(np.square(pcm[first:last], dtype=np.float64))))
    starts = np.arange(0, max(1, last - first - length), hop)
    stretch = energy[np.minimum(starts + length, last - first)] - energy[starts]
    return first + int(starts[stretch.argmin()]) + length // 2
