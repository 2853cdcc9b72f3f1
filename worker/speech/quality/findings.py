"""What may be wrong with an utterance, and how grave each is. Pure."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass


class Defect(enum.StrEnum):
    """In order of what is worse for a listener: words that are missing, words that are too many, then how it sounds."""

    REFUSED = "refused"
    """The engine does not take the text at all."""
    NOT_FINITE = "not_finite"
    SILENT = "silent"
    UNFINISHED = "unfinished"
    """Stopped by the frame limit: the text is cut off, or the talker ran away."""
    WRONG_WORDS = "wrong_words"
    """A recogniser reads a run of other words than the text has, counted in words; or see `misfit`."""
    MISSING_WORD = "missing_word"
    """A recogniser reads the words on both sides of one that means something, and not that one."""
    TOO_SHORT = "too_short"
    EARLY_END = "early_end"
    """Shorter than usual, and the last codec frame is none that good speech ends with."""
    TOO_FAST = "too_fast"
    """Shorter than the pace of the job's other segments allows."""
    TOO_LONG = "too_long"
    TOO_SLOW = "too_slow"
    REPEATED_FRAMES = "repeated_frames"
    LONG_PAUSE = "long_pause"
    HOLE = "hole"
    """The sound is gone for a moment, with hard edges."""
    OTHER_VOICE = "other_voice"
    """As a whole it does not sound as its voice does: muffled, thin, noisy, or another person."""
    WRONG_PITCH = "wrong_pitch"
    NOISE = "noise"
    """A stretch sounds like nothing that its voice says."""
    CUT_END = "cut_end"
    LONG_EDGE = "long_edge"
    """Silence before the first or after the last sound."""
    CLICK = "click"
    BACKGROUND = "background"
    """Where nothing is said, it is not quiet."""
    LEVEL_CHANGE = "level_change"
    """The second half is much louder or softer than the first."""
    CLIPPED = "clipped"
    LEVEL = "level"
    UNEVEN_LEVEL = "uneven_level"
    """Far from the loudness of the job's other segments."""


SEVERITY = tuple(Defect)
"""The worst first."""

HARD = frozenset({Defect.REFUSED, Defect.NOT_FINITE, Defect.SILENT})
"""Nothing is audible, so nothing can be kept. Everything else is better flagged than missing."""

_GRADED = frozenset(
    {Defect.TOO_SHORT, Defect.TOO_FAST, Defect.TOO_LONG, Defect.TOO_SLOW, Defect.LONG_PAUSE, Defect.LONG_EDGE}
)
_SLIGHT = 0.1
"""Beyond a bound of lengths by less than this share of it."""


@dataclass(frozen=True, slots=True)
class SpeechFinding:
    """One thing that is wrong. `measured` lies beyond `bound`; both in the unit of the defect: seconds, dB, shares or
    frames. `at_s` is where in the utterance, None for the whole of it. `said`: of an engine that refuses, its words;
    of missing words, which.
    """

    defect: Defect
    measured: float
    bound: float
    at_s: float | None = None
    said: str = ""

    @property
    def excess(self) -> float:
        """How far beyond the bound, as a share of it."""
        return abs(self.measured - self.bound) / max(abs(self.bound), 1e-9)

    @property
    def is_slight(self) -> bool:
        """A length that is hardly unusual; what has nothing worse is the better take, whatever it is called."""
        return self.defect in _GRADED and self.excess < _SLIGHT

    def __str__(self) -> str:
        """In plain words, for the user."""
        place = "somewhere" if self.at_s is None else f"at {self.at_s:.1f} s"
        return self.said or _PLAIN[self.defect].format(measured=self.measured, bound=self.bound, place=place)


_PLAIN = {
    Defect.REFUSED: "the engine does not accept this text",
    Defect.NOT_FINITE: "its samples are not numbers",
    Defect.SILENT: "it is silent",
    Defect.UNFINISHED: "it did not end and was stopped after {measured:.1f} s",
    Defect.WRONG_WORDS: "speech recognition found {measured:.0f} other words in a row",
    Defect.MISSING_WORD: "speech recognition found a missing or another word",
    Defect.TOO_SHORT: "it is too short: {measured:.3f} s (limit {bound:.3f} s)",
    Defect.EARLY_END: "it ends inside a sound after {measured:.2f} s (expected {bound:.2f} s)",
    Defect.TOO_FAST: "it is faster than this job's pace: {measured:.3f} s (limit {bound:.3f} s)",
    Defect.TOO_LONG: "it is too long: {measured:.3f} s (limit {bound:.3f} s)",
    Defect.TOO_SLOW: "it is slower than this job's pace: {measured:.3f} s (limit {bound:.3f} s)",
    Defect.REPEATED_FRAMES: "{measured:.0f} frames are repeated {place}",
    Defect.LONG_PAUSE: "it pauses for {measured:.3f} s {place} (limit {bound:.3f} s)",
    Defect.HOLE: "it has a short gap {place} (edges of {measured:.0f} dB, limit {bound:.0f} dB)",
    Defect.OTHER_VOICE: "it sounds like another voice ({measured:.1f} dB off, limit {bound:.1f} dB)",
    Defect.WRONG_PITCH: "its pitch is {measured:+.1f} semitones off (limit {bound:+.1f})",
    Defect.NOISE: "it has a strange sound {place} ({measured:.1f} dB off, limit {bound:.1f} dB)",
    Defect.CLICK: "it clicks {place} ({measured:.0f} dB, limit {bound:.0f} dB)",
    Defect.BACKGROUND: "its pauses are noisy ({measured:.0f} dB, limit {bound:.0f} dB)",
    Defect.LEVEL_CHANGE: "its level changes by {measured:+.0f} dB inside (limit {bound:+.0f} dB)",
    Defect.CUT_END: "its end is cut off ({measured:.0f} dB, limit {bound:.0f} dB)",
    Defect.LONG_EDGE: "it is silent for {measured:.3f} s {place} (limit {bound:.3f} s)",
    Defect.CLIPPED: "{measured:.1%} of its samples are clipped",
    Defect.LEVEL: "its level is {measured:.0f} dB (limit {bound:.0f} dB)",
    Defect.UNEVEN_LEVEL: "it is {measured:+.0f} LU off the job's other segments",
}
"""`measured`, `bound` and `place` as the finding has them."""


def worst_first(findings: Iterable[SpeechFinding]) -> tuple[SpeechFinding, ...]:
    return tuple(sorted(findings, key=lambda finding: SEVERITY.index(finding.defect)))
