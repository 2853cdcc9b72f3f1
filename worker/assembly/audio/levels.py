"""One gain for the job, or for each chapter, that brings it to the loudness that was asked for.

Where the true peak would exceed its limit, a limiter reduces it and the gain compensates. Measurement and gain repeat
with the limiter until the loudness is right. Speech that would have to be crushed is left softer instead.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rhapsode.contract.jobs.output import Loudness, LoudnessScope
from storage.segments.timeline import Placed
from worker.speech.audio.limiter import Signal, limited
from worker.speech.audio.loudness import LoudnessMeter
from worker.speech.audio.samples import Samples
from worker.speech.audio.true_peak import TruePeakMeter

FULL_SCALE = 32768
TOLERANCE_LU = 0.1
"""A target missed by less is not worth a warning."""

MOST_REDUCTION_DB = 6.0
MOST_REDUCED_SHARE = 0.01
"""More may be taken off for this share of the time: clicks and single cries. Speech is not the same with more of it."""

MOST_TRIALS = 5
CLOSE_LU = 0.03
"""A gain is right if the loudness misses the target by no more."""

_WINDOW_S = 0.01
_SILENCE_PIECE_S = 1.0

HeardAll = Callable[[Sequence[Placed]], Iterator[Samples]]


@dataclass(frozen=True, slots=True)
class MeasuredLevel:
    """What was measured of a stretch of the narration, and what follows.

    first_segment, end_segment: the stretch, in indices. loudness_lufs, true_peak_db: as spoken; None for silence, and
    loudness also for less than 400 ms. reached_lufs: with the gain. ceiling_db: what a limiter keeps the true peak
    below; None where there is no need for one.
    """

    first_segment: int
    end_segment: int
    loudness_lufs: float | None
    true_peak_db: float | None
    gain_db: float = 0.0
    reached_lufs: float | None = None
    ceiling_db: float | None = None

    def levelled(self, samples: Samples, sample_rate_hz: int) -> Signal:
        """A segment of the stretch as it is to sound."""
        signal = samples.astype(np.float32) * np.float32(10 ** (self.gain_db / 20))
        if self.ceiling_db is None:
            return signal
        return limited(signal, FULL_SCALE * 10 ** (self.ceiling_db / 20), sample_rate_hz)


Known = Callable[[Sequence[Placed]], MeasuredLevel | None]


def measure_levels(
    placed: Iterable[Placed], sample_rate_hz: int, target: Loudness, heard_all: HeardAll, known: Known
) -> tuple[MeasuredLevel, ...]:
    """In order, covering all segments. heard_all: the samples of a stretch's segments, in order; called again for each
    gain that is tried with a limiter. known: the level of a stretch that was measured before.
    """
    stretches = _stretches(placed, target.scope)
    return tuple(known(each) or Levelling(each, sample_rate_hz, target, heard_all).level() for each in stretches)


def warnings_of(levels: Iterable[MeasuredLevel], target: Loudness) -> Iterator[str]:
    """A sentence for every stretch that does not reach the target."""
    for level in levels:
        chapter = f"the chapter of segments {level.first_segment} to {level.end_segment - 1}"
        where = "the narration" if target.scope is LoudnessScope.JOB else chapter
        if level.reached_lufs is None:
            yield f"{where} is silent or too short to have a loudness; its level was left as it is"
        elif target.target_lufs - level.reached_lufs > TOLERANCE_LU:
            yield (
                f"{where} has {level.reached_lufs:.1f} LUFS instead of {target.target_lufs:g}: with more gain, a true "
                f"peak of {target.max_true_peak_db:g} dB would take more than {MOST_REDUCTION_DB:g} dB off for more "
                f"than {MOST_REDUCED_SHARE:.0%} of the time"
            )


@dataclass(frozen=True, slots=True)
class Levelling:
    """One stretch of the narration on its way to the target."""

    stretch: Sequence[Placed]
    sample_rate_hz: int
    target: Loudness
    heard_all: HeardAll

    def level(self) -> MeasuredLevel:
        """Measured as it was spoken, and then with the limiter, if that has to be."""
        loudness, peak, peaks = LoudnessMeter(self.sample_rate_hz), TruePeakMeter(), _WindowPeaks(self.sample_rate_hz)
        for num_head, samples, num_gap in self._segments():
            _add_silence(loudness, num_head, self.sample_rate_hz)
            signal = samples / FULL_SCALE
            loudness.add(signal)
            peak.add(signal)
            peaks.add(samples)
            _add_silence(loudness, num_gap, self.sample_rate_hz)
        first, last = self.stretch[0].planned.index, self.stretch[-1].planned.index
        lufs = loudness.integrated_lufs()
        spoken = MeasuredLevel(first, last + 1, lufs if math.isfinite(lufs) else None, _decibels(peak.value()))
        if spoken.loudness_lufs is None or spoken.true_peak_db is None:
            return spoken
        wanted_db = self.target.target_lufs - spoken.loudness_lufs
        if wanted_db <= self.target.max_true_peak_db - spoken.true_peak_db:
            return replace(spoken, gain_db=wanted_db, reached_lufs=self.target.target_lufs)
        loud_db = _decibels(peaks.exceeded_for(MOST_REDUCED_SHARE) / FULL_SCALE)
        most_db = math.inf if loud_db is None else self.target.max_true_peak_db + MOST_REDUCTION_DB - loud_db
        return self._limited(replace(spoken, gain_db=min(wanted_db, most_db)), most_db)

    def _limited(self, level: MeasuredLevel, most_db: float) -> MeasuredLevel:
        """At the gain that reaches the target, or at the most."""
        tried = self._measured(replace(level, ceiling_db=self.target.max_true_peak_db))
        for _ in range(MOST_TRIALS - 1):
            missed = self.target.target_lufs - (tried.reached_lufs or 0.0)
            if abs(missed) <= CLOSE_LU or (missed > 0 and tried.gain_db == most_db):
                break
            tried = self._measured(replace(tried, gain_db=min(tried.gain_db + missed, most_db)))
        return tried

    def _measured(self, level: MeasuredLevel) -> MeasuredLevel:
        loudness = LoudnessMeter(self.sample_rate_hz)
        for num_head, samples, num_gap in self._segments():
            _add_silence(loudness, num_head, self.sample_rate_hz)
            loudness.add(level.levelled(samples, self.sample_rate_hz) / FULL_SCALE)
            _add_silence(loudness, num_gap, self.sample_rate_hz)
        return replace(level, reached_lufs=loudness.integrated_lufs())

    def _segments(self) -> Iterator[tuple[int, Samples, int]]:
        """With the silence before and behind each."""
        for each, samples in zip(self.stretch, self.heard_all(self.stretch), strict=True):
            yield each.num_head, samples, each.num_gap


class _WindowPeaks:
    """How many windows of 10 ms have which highest sample; pauses between segments are none."""

    def __init__(self, sample_rate_hz: int) -> None:
        self._window = round(_WINDOW_S * sample_rate_hz)
        self._counts: NDArray[np.int64] = np.zeros(FULL_SCALE + 1, np.int64)

    def add(self, samples: Samples) -> None:
        if len(samples):
            highest = np.maximum.reduceat(np.abs(samples.astype(np.int32)), np.arange(0, len(samples), self._window))
            self._counts += np.bincount(highest, minlength=len(self._counts))

    def exceeded_for(self, share: float) -> int:
        """The least magnitude that no more than this share of the windows is above."""
        above = np.cumsum(self._counts[::-1])[::-1]
        return int(np.count_nonzero(above[1:] > share * above[0]))


def _stretches(placed: Iterable[Placed], scope: LoudnessScope) -> Iterator[tuple[Placed, ...]]:
    chapters = itertools.groupby(placed, lambda each: scope is not LoudnessScope.JOB and each.planned.chapter)
    return (tuple(stretch) for _, stretch in chapters)


def _add_silence(loudness: LoudnessMeter, num_samples: int, sample_rate_hz: int) -> None:
    piece = round(_SILENCE_PIECE_S * sample_rate_hz)
    for start in range(0, num_samples, piece):
        loudness.add(np.zeros(min(piece, num_samples - start)))


def _decibels(magnitude: float) -> float | None:
    return 20 * math.log10(magnitude) if magnitude > 0 else None
