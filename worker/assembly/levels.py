"""One linear gain for the job, or for each chapter, that brings it to the loudness that was asked for."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from rhapsode.contract.jobs.output import Loudness, LoudnessScope
from storage.segments.results import SegmentResult
from storage.segments.timeline import Placed
from worker.speech.audio.loudness import LoudnessMeter
from worker.speech.audio.samples import Samples
from worker.speech.audio.true_peak import TruePeakMeter

FULL_SCALE = 32768
TOLERANCE_LU = 0.1
"""A target missed by less is not worth a warning."""

_SILENCE_PIECE_S = 1.0


@dataclass(frozen=True, slots=True)
class Level:
    """What was measured of a stretch of the narration, and the gain that follows.

    first_segment, end_segment: the stretch, in indices. loudness_lufs, true_peak_db: before the gain; None for silence,
    and loudness also for less than 400 ms. shortfall_lu: by how much the target is missed.
    """

    first_segment: int
    end_segment: int
    loudness_lufs: float | None
    true_peak_db: float | None
    gain_db: float = 0.0
    shortfall_lu: float = 0.0

    @property
    def gain(self) -> float:
        """As a factor of samples."""
        return 10 ** (self.gain_db / 20)


def measure_levels(
    placed: Iterable[Placed], sample_rate_hz: int, target: Loudness, read: Callable[[SegmentResult], Samples]
) -> tuple[Level, ...]:
    """In order, covering all segments. read: gives a segment's samples; called once for each, in order."""
    levels: list[Level] = []
    for stretch in _stretches(placed, target.scope):
        loudness, peak = LoudnessMeter(sample_rate_hz), TruePeakMeter()
        first = end = stretch[0].planned.index
        for each in stretch:
            for samples in _with_gap(read(each.result), each.num_gap, sample_rate_hz):
                signal = samples / FULL_SCALE
                loudness.add(signal)
                peak.add(signal)
            end = each.planned.index + 1
        levels.append(
            _levelled(Level(first, end, _finite(loudness.integrated_lufs()), _decibels(peak.value())), target)
        )
    return tuple(levels)


def warnings_of(levels: Iterable[Level], target: Loudness) -> Iterator[str]:
    """A sentence for every stretch that does not reach the target."""
    for level in levels:
        where = "the narration" if target.scope is LoudnessScope.JOB else _segments_of(level)
        if level.loudness_lufs is None:
            yield f"{where} is silent or too short to have a loudness; its level was left as it is"
        elif level.shortfall_lu > TOLERANCE_LU:
            reached = level.loudness_lufs + level.gain_db
            yield (
                f"{where} has {reached:.1f} LUFS instead of {target.target_lufs:g}: more gain would lift its true peak "
                f"beyond {target.max_true_peak_db:g} dB"
            )


def _stretches(placed: Iterable[Placed], scope: LoudnessScope) -> Iterator[tuple[Placed, ...]]:
    if scope is LoudnessScope.JOB:
        yield tuple(placed)
        return
    for _, stretch in itertools.groupby(placed, key=lambda each: each.planned.chapter):
        yield tuple(stretch)


def _with_gap(samples: Samples, num_gap: int, sample_rate_hz: int) -> Iterator[Samples]:
    yield samples
    piece = round(_SILENCE_PIECE_S * sample_rate_hz)
    for start in range(0, num_gap, piece):
        yield np.zeros(min(piece, num_gap - start), np.int16)


def _levelled(level: Level, target: Loudness) -> Level:
    if level.loudness_lufs is None or level.true_peak_db is None:
        return level
    wanted = target.target_lufs - level.loudness_lufs
    allowed = target.max_true_peak_db - level.true_peak_db
    return Level(
        level.first_segment,
        level.end_segment,
        level.loudness_lufs,
        level.true_peak_db,
        gain_db=min(wanted, allowed),
        shortfall_lu=max(0.0, wanted - allowed),
    )


def _segments_of(level: Level) -> str:
    return f"the chapter of segments {level.first_segment} to {level.end_segment - 1}"


def _finite(lufs: float) -> float | None:
    return lufs if math.isfinite(lufs) else None


def _decibels(magnitude: float) -> float | None:
    return 20 * math.log10(magnitude) if magnitude > 0 else None
