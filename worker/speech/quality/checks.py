"""The `basic` quality gate: what is wrong with an utterance, found without another model. Pure.

It hears silence, cuts, loops, clipping and wrong lengths. It cannot hear wrong words; a recogniser can.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from worker.engine.interface import FinishReason, Speech
from worker.speech.quality.calibration.calibration_file import SpeechBounds
from worker.speech.quality.expectation import DurationModel
from worker.speech.quality.measures import SpeechMeasures, measure

MAX_REPEATED_FRAMES = 3
"""In good speech hardly a single audible frame comes again in all codebooks; a quarter of a second never does."""

MAX_CLIPPED_SHARE = 0.001


class Defect(enum.StrEnum):
    """In order of what is worse for a listener: words that are missing, words that are too many, then how it sounds."""

    REFUSED = "refused"
    """The engine does not take the text at all."""
    NOT_FINITE = "not_finite"
    SILENT = "silent"
    UNFINISHED = "unfinished"
    """Stopped by the frame limit: the text is cut off, or the talker ran away."""
    WRONG_WORDS = "wrong_words"
    """A recogniser reads a run of other words than the text has; counted in words."""
    TOO_SHORT = "too_short"
    EARLY_END = "early_end"
    """Shorter than usual, and the last codec frame is none that good speech ends with."""
    TOO_FAST = "too_fast"
    """Shorter than the pace of the job's other segments allows."""
    TOO_LONG = "too_long"
    TOO_SLOW = "too_slow"
    REPEATED_FRAMES = "repeated_frames"
    LONG_PAUSE = "long_pause"
    CUT_END = "cut_end"
    LONG_EDGE = "long_edge"
    """Silence before the first or after the last sound."""
    CLIPPED = "clipped"
    LEVEL = "level"
    UNEVEN_LEVEL = "uneven_level"
    """Far from the loudness of the job's other segments."""


SEVERITY = tuple(Defect)
"""The worst first."""

HARD = frozenset({Defect.REFUSED, Defect.NOT_FINITE, Defect.SILENT})
"""Nothing can be heard, so nothing can be kept. Everything else is better flagged than missing."""

_GRADED = frozenset(
    {Defect.TOO_SHORT, Defect.TOO_FAST, Defect.TOO_LONG, Defect.TOO_SLOW, Defect.LONG_PAUSE, Defect.LONG_EDGE}
)
_SLIGHT = 0.1
"""Beyond a bound of lengths by less than this share of it."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong. `measured` lies beyond `bound`; both in the unit of the defect: seconds, dB, shares or
    frames. `at_s` is where in the utterance, None for the whole of it. `said`: of an engine that refuses, its words.
    """

    defect: Defect
    measured: float
    bound: float
    at_s: float | None = None
    said: str = ""

    @property
    def is_hard(self) -> bool:
        return self.defect in HARD

    @property
    def excess(self) -> float:
        """How far beyond the bound, as a share of it."""
        return abs(self.measured - self.bound) / max(abs(self.bound), 1e-9)

    @property
    def is_slight(self) -> bool:
        """A length that is hardly unusual; what has nothing worse is the better take, whatever it is called."""
        return self.defect in _GRADED and self.excess < _SLIGHT

    def __str__(self) -> str:
        """In plain words, for whoever ordered the speech."""
        place = "somewhere" if self.at_s is None else f"at {self.at_s:.1f} s"
        return self.said or _PLAIN[self.defect].format(measured=self.measured, bound=self.bound, place=place)


_PLAIN = {
    Defect.REFUSED: "the engine does not take this text",
    Defect.NOT_FINITE: "its samples are no numbers",
    Defect.SILENT: "nothing is to be heard",
    Defect.UNFINISHED: "it does not come to an end and was stopped after {measured:.1f} s",
    Defect.WRONG_WORDS: "read back, {measured:.0f} words in a row are others than the text's",
    Defect.TOO_SHORT: "it takes {measured:.2f} s, shorter than the {bound:.2f} s that its text takes at least",
    Defect.EARLY_END: "it ends in the middle of a sound after {measured:.2f} s, and {bound:.2f} s are usual",
    Defect.TOO_FAST: "it takes {measured:.2f} s, and at the pace of this job {bound:.2f} s at least",
    Defect.TOO_LONG: "it takes {measured:.2f} s, longer than the {bound:.2f} s that its text takes at most",
    Defect.TOO_SLOW: "it takes {measured:.2f} s, and at the pace of this job {bound:.2f} s at most",
    Defect.REPEATED_FRAMES: "a stretch of {measured:.0f} frames comes again {place}",
    Defect.LONG_PAUSE: "it pauses for {measured:.2f} s {place}, and {bound:.2f} s is the longest that is usual",
    Defect.CUT_END: "it breaks off while it is loud ({measured:.0f} dB, usual is below {bound:.0f})",
    Defect.LONG_EDGE: "it is silent for {measured:.2f} s {place}, an edge, where {bound:.2f} s are usual at most",
    Defect.CLIPPED: "{measured:.1%} of its samples are clipped",
    Defect.LEVEL: "its level is {measured:.0f} dB, and {bound:.0f} dB is the last that is usual",
    Defect.UNEVEN_LEVEL: "it is {measured:+.0f} LU off the job's other segments",
}
"""`measured`, `bound` and `place` as the finding has them."""


def basic_findings(speech: Speech, text: str, bounds: SpeechBounds) -> tuple[Finding, ...]:
    """Everything found, worst first; empty for speech that passes."""
    return worst_first(measured_findings(speech, measure(speech), text, bounds))


def measured_findings(speech: Speech, measures: SpeechMeasures, text: str, bounds: SpeechBounds) -> list[Finding]:
    """As `basic_findings`, of speech that is measured already; in no order."""
    return list(_findings(speech, measures, text, bounds))


def worst_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda finding: SEVERITY.index(finding.defect)))


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
        yield from _end_findings(measures, text, bounds.duration, bounds.final_codes)
    yield from _silence_findings(measures, bounds)
    yield from _sound_findings(measures, bounds, len(speech.frames))


def _duration_findings(measures: SpeechMeasures, text: str, model: DurationModel) -> Iterator[Finding]:
    shortest_s, longest_s = model.shortest_s(text), model.longest_s(text)
    if measures.speech_s < shortest_s:
        yield Finding(Defect.TOO_SHORT, measures.speech_s, shortest_s)
    if measures.speech_s > longest_s:
        yield Finding(Defect.TOO_LONG, measures.speech_s, longest_s)


def _end_findings(
    measures: SpeechMeasures, text: str, model: DurationModel, final_codes: tuple[int, ...]
) -> Iterator[Finding]:
    """A stop at a pause sounds like an end and is hardly too short; either sign alone would condemn good speech."""
    usual_s = model.expected_s(text) * (1 - model.shorter_share / 2)
    if final_codes and measures.final_code not in final_codes and measures.speech_s < usual_s:
        yield Finding(Defect.EARLY_END, measures.speech_s, usual_s, measures.total_s)


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
