"""The part of a job that says how its segments are checked, and what was found: the public contract."""

from __future__ import annotations

import enum

from pydantic import Field

from rhapsode.contract.base import Answer, Choice, RequestBody

SEGMENT_QUALITY = "segment_quality"
"""The code of a segment that did not pass: of the job's error, or of the warning if the segment was kept."""

MAX_ATTEMPTS = 10
"""A segment that is spoken wrong ten times will not be right the eleventh."""


class Gate(enum.StrEnum):
    """What a segment must pass before it counts as done."""

    OFF = "off"
    """Nothing is checked; what the engine says is taken."""

    BASIC = "basic"
    """Finish reason, length, silence, loops, clipping, level and pace, all without another model."""

    ASR = "asr"
    """As `BASIC`, and a recogniser reads the speech back."""


class OnExhausted(enum.StrEnum):
    """The result for a segment whose last attempt also fails."""

    KEEP_BEST = "keep_best"
    """Keep the best attempt, with a flag and a warning. The job fails if no attempt has audible speech."""

    KEEP_BEST_OR_GAP = "keep_best_or_gap"
    """Like `KEEP_BEST`. Without audible speech, silence of the expected length is a listed gap."""

    SILENCE = "silence"
    """Always silence, as a listed gap."""

    FAIL = "fail"
    """Whatever was found, the job fails and says so; what was finished stays."""


class Quality(RequestBody):
    """The check of each segment. A rejected segment is retried with another seed, at last in two halves."""

    gate: Choice[Gate] = Field(
        default=Gate.BASIC,
        description="`basic` finds silence, loops, cuts, wrong lengths and levels; `asr` also transcribes, with a "
        "recogniser for the language; `off` checks nothing",
    )
    max_attempts: int = Field(default=3, ge=1, le=MAX_ATTEMPTS, description="maximum attempts at a segment")
    on_exhausted: Choice[OnExhausted] = Field(
        default=OnExhausted.KEEP_BEST,
        description="`keep_best` keeps the best attempt, but fails the job if all are silent; "
        "`keep_best_or_gap` then leaves a gap; `silence` always does; `fail` fails",
    )


class JobQuality(Answer):
    """`retries`: attempts that did not pass and were spoken again. `flagged_segments`: ids of those that were kept
    although they did not pass; `gaps`: of those in whose place silence stands. Both of the first 100, whose reasons are
    in the job's `warnings`; `progress.segments.flagged` counts all.
    """

    gate: Gate
    retries: int
    flagged_segments: tuple[str, ...]
    gaps: tuple[str, ...]


class JobWarning(Answer):
    """What the caller should know although the job goes on. `segment`: the index of the one it is about, or null."""

    code: str
    detail: str
    segment: int | None
