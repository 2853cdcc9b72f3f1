"""The `basic` quality gate: what is wrong with an utterance, found without another model. Pure.

It hears silence, cuts, loops, clipping and wrong lengths. It cannot hear wrong words; a recogniser can.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass

from worker.engine.interface import FinishReason, Speech
from worker.quality.calibration import SpeechBounds
from worker.quality.expectation import DurationModel
from worker.quality.measures import SpeechMeasures, measure

MAX_REPEATED_FRAMES = 3
"""In good speech hardly a single audible frame comes again in all codebooks; a quarter of a second never does."""

MAX_CLIPPED_SHARE = 0.001


class Defect(enum.StrEnum):
    NOT_FINITE = "not_finite"
    UNFINISHED = "unfinished"
    """Stopped by the frame limit: the text is cut off, or the talker ran away."""
    SILENT = "silent"
    TOO_SHORT = "too_short"
    TOO_LONG = "too_long"
    LONG_PAUSE = "long_pause"
    LONG_EDGE = "long_edge"
    """Silence before the first or after the last sound."""
    CUT_END = "cut_end"
    REPEATED_FRAMES = "repeated_frames"
    CLIPPED = "clipped"
    LEVEL = "level"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong. `measured` lies beyond `bound`; both in the unit of the defect: seconds, dB, shares or
    frames. `at_s` is where in the utterance, None for the whole of it.
    """

    defect: Defect
    measured: float
    bound: float
    at_s: float | None = None


def basic_findings(speech: Speech, text: str, bounds: SpeechBounds) -> tuple[Finding, ...]:
    """Everything found, worst first; empty for speech that passes."""
    measures = measure(speech)
    return tuple(_findings(speech, measures, text, bounds))


def _findings(speech: Speech, measures: SpeechMeasures, text: str, bounds: SpeechBounds) -> Iterator[Finding]:
    if measures.finite_share < 1:
        yield Finding(Defect.NOT_FINITE, measures.finite_share, 1.0)
    if speech.finish_reason is not FinishReason.EOS:
        yield Finding(Defect.UNFINISHED, measures.total_s, measures.total_s, measures.total_s)
    if measures.speech_s == 0:
        # Silence has no length, level or end that could be wrong, too.
        yield Finding(Defect.SILENT, measures.loudness_db, bounds.quietest_db)
        return
    if bounds.duration:
        yield from _duration_findings(measures, text, bounds.duration)
    yield from _silence_findings(measures, bounds)
    yield from _sound_findings(measures, bounds, len(speech.frames))


def _duration_findings(measures: SpeechMeasures, text: str, model: DurationModel) -> Iterator[Finding]:
    shortest_s, longest_s = model.shortest_s(text), model.longest_s(text)
    if measures.speech_s < shortest_s:
        yield Finding(Defect.TOO_SHORT, measures.speech_s, shortest_s)
    if measures.speech_s > longest_s:
        yield Finding(Defect.TOO_LONG, measures.speech_s, longest_s)


def _silence_findings(measures: SpeechMeasures, bounds: SpeechBounds) -> Iterator[Finding]:
    if measures.longest_pause_s > bounds.longest_pause_s:
        yield Finding(Defect.LONG_PAUSE, measures.longest_pause_s, bounds.longest_pause_s, measures.longest_pause_at_s)
    if measures.leading_s > bounds.longest_edge_s:
        yield Finding(Defect.LONG_EDGE, measures.leading_s, bounds.longest_edge_s, 0.0)
    if measures.trailing_s > bounds.longest_edge_s:
        place_s = measures.total_s - measures.trailing_s
        yield Finding(Defect.LONG_EDGE, measures.trailing_s, bounds.longest_edge_s, place_s)


def _sound_findings(measures: SpeechMeasures, bounds: SpeechBounds, num_frames: int) -> Iterator[Finding]:
    if measures.repeat.frames > MAX_REPEATED_FRAMES:
        place_s = measures.repeat.at * measures.total_s / num_frames
        yield Finding(Defect.REPEATED_FRAMES, measures.repeat.frames, MAX_REPEATED_FRAMES, place_s)
    if measures.end_db > bounds.loudest_end_db:
        yield Finding(Defect.CUT_END, measures.end_db, bounds.loudest_end_db, measures.total_s)
    if measures.clipped_share > MAX_CLIPPED_SHARE:
        yield Finding(Defect.CLIPPED, measures.clipped_share, MAX_CLIPPED_SHARE)
    if measures.loudness_db < bounds.quietest_db:
        yield Finding(Defect.LEVEL, measures.loudness_db, bounds.quietest_db)
    if measures.loudness_db > bounds.loudest_db:
        yield Finding(Defect.LEVEL, measures.loudness_db, bounds.loudest_db)
