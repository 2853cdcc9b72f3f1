"""How strictly a job's segments are checked, and what becomes of one that never passes. Pure."""

from __future__ import annotations

import enum
from dataclasses import dataclass

SEGMENT_QUALITY = "segment_quality"
"""The public code of a segment that did not pass: of the job's error, or of the warning if the segment was kept."""


class Gate(enum.StrEnum):
    """What a segment must pass before it counts as done."""

    OFF = "off"
    """Nothing is checked; what the engine says is taken."""

    BASIC = "basic"
    """Finish reason, length, silence, loops, clipping, level and pace, all without another model."""

    ASR = "asr"
    """As `BASIC`, and a recogniser reads the speech back."""


class OnExhausted(enum.StrEnum):
    """What becomes of a segment whose last attempt did not pass either."""

    KEEP_BEST = "keep_best"
    """The least bad attempt is kept, flagged and warned of. Where none can be heard at all, the job fails."""

    KEEP_BEST_OR_GAP = "keep_best_or_gap"
    """As `KEEP_BEST`, but where no attempt can be heard, silence of the expected length is a listed gap."""

    SILENCE = "silence"
    """Whatever was found, silence takes its place: a listed gap."""

    FAIL = "fail"
    """Whatever was found, the job fails and says so; what was finished stays."""


@dataclass(frozen=True, slots=True)
class Quality:
    """What a job asks of its segments.

    max_attempts: times a segment is spoken at most, each unlike the one before (`worker.synthesis.manners`).
    """

    gate: Gate = Gate.BASIC
    max_attempts: int = 3
    on_exhausted: OnExhausted = OnExhausted.KEEP_BEST
