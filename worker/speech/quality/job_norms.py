"""What is usual among the segments of one job: its pace and its loudness. Pure.

A checkpoint's bounds hold for all its voices and moods. Within one job, a voice keeps much closer to one pace and
level. So these norms find outliers that the checkpoint's bounds would pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from worker.speech.quality.expectation import SLACK_S, DurationModel
from worker.speech.quality.findings import Defect, SpeechFinding
from worker.speech.quality.sound.timbre import TimbreNorm

LEAST_SEGMENTS = 16
"""Fewer say nothing yet: one that is wrong would shift what is usual."""

MOST_UNEVEN_LU = 9.0
"""Between a segment and the job's median. Whispered and shouted lines of one reader lie within it."""

GENERAL_DURATION = DurationModel(0.2, 0.06, 0.06, 0.12, shorter_share=0.45, longer_share=0.9)
"""For voices without a calibration. Only its proportions matter: the job's own pace scales it."""

_GENERAL_SLACK_S = 0.7


@dataclass(frozen=True, slots=True)
class JobNorms:
    """pace: median of how long segments sound by how long the model expects them to. loudness_lufs: their median.
    timbre: of a voice without calibration, None while too little of it was spoken.
    """

    pace: float
    loudness_lufs: float | None
    timbre: TimbreNorm | None = None


@dataclass(frozen=True, slots=True)
class MeasuredSegment:
    """A finished segment of the same voice. speech_s: without the silence at its edges."""

    text: str
    speech_s: float
    loudness_lufs: float | None


def job_norms(segments: Sequence[MeasuredSegment], model: DurationModel | None) -> JobNorms | None:
    """None while there are too few."""
    if len(segments) < LEAST_SEGMENTS:
        return None
    expectation = model or GENERAL_DURATION
    paces = [each.speech_s / max(expectation.expected_s(each.text), SLACK_S) for each in segments]
    levels = [each.loudness_lufs for each in segments if each.loudness_lufs is not None]
    return JobNorms(median(paces), median(levels) if len(levels) >= LEAST_SEGMENTS else None)


def unusual_in_job(
    text: str, speech_s: float, loudness_lufs: float | None, norms: JobNorms, model: DurationModel | None
) -> Iterator[SpeechFinding]:
    """What of an utterance is not as the job's other segments are."""
    expectation, slack_s = (model, SLACK_S) if model else (GENERAL_DURATION, _GENERAL_SLACK_S)
    expected_s = expectation.expected_s(text) * norms.pace
    shortest_s = expected_s - max(expectation.shorter_floor_s, expected_s * expectation.shorter_share + slack_s)
    longest_s = expected_s + max(expectation.longer_floor_s, expected_s * expectation.longer_share + slack_s)
    if speech_s < shortest_s:
        yield SpeechFinding(Defect.TOO_FAST, speech_s, shortest_s)
    if speech_s > longest_s:
        yield SpeechFinding(Defect.TOO_SLOW, speech_s, longest_s)
    if loudness_lufs is not None and norms.loudness_lufs is not None:
        distance = loudness_lufs - norms.loudness_lufs
        if abs(distance) > MOST_UNEVEN_LU:
            yield SpeechFinding(Defect.UNEVEN_LEVEL, distance, MOST_UNEVEN_LU if distance > 0 else -MOST_UNEVEN_LU)
