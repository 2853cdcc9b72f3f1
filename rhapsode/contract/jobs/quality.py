"""The part of a job that says how its segments are checked, and what was found: the public contract."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from rhapsode.contract.base import Answer, RequestBody

MAX_ATTEMPTS = 10
"""A segment that is spoken wrong ten times will not be right the eleventh."""

OnExhaustedName = Literal["keep_best", "keep_best_or_gap", "silence", "fail"]


class QualityRequest(RequestBody):
    """Every segment is checked before it counts as done, and spoken again otherwise if it does not pass: with another
    seed, at a temperature where the checkpoint decodes greedily, at last in two halves.
    """

    gate: Literal["off", "basic", "asr"] = Field(
        default="basic",
        description="`basic` hears silence, loops, cuts, wrong lengths and levels; `asr` also reads the speech back "
        "and needs a recogniser for the language (see `/v1/models`); `off` checks nothing",
    )
    max_attempts: int = Field(default=3, ge=1, le=MAX_ATTEMPTS, description="times a segment is spoken at most")
    on_exhausted: OnExhaustedName = Field(
        default="keep_best",
        description="of a segment that never passes: `keep_best`: the least bad attempt is kept, flagged and warned "
        "of, and the job fails where nothing can be heard in any; `keep_best_or_gap`: there, a gap of silence is left "
        "and listed; `silence`: a gap, whatever was found; `fail`: the job fails, whatever was found",
    )


class ResolvedQuality(Answer):
    gate: Literal["off", "basic", "asr"]
    max_attempts: int
    on_exhausted: OnExhaustedName


class JobQuality(Answer):
    """`retries`: attempts that did not pass and were spoken again. `flagged_segments`: ids of those that were kept
    although they did not pass; `gaps`: of those in whose place silence stands. Both of the first 100, whose reasons are
    in the job's `warnings`; `progress.segments.flagged` counts all.
    """

    gate: Literal["off", "basic", "asr"]
    retries: int
    flagged_segments: tuple[str, ...]
    gaps: tuple[str, ...]


class JobWarning(Answer):
    """What the caller should know although the job goes on. `segment`: the index of the one it is about, or null."""

    code: str
    detail: str
    segment: int | None
