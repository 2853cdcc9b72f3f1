"""The part of a job that says how its segments are checked, and what was found: the public contract."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from api.schemas.base import Answer, RequestBody
from storage.narration.quality import MAX_ATTEMPTS


class QualityRequest(RequestBody):
    """Every segment is checked before it counts as done, and spoken again with another seed if it does not pass.

    `gate`: `basic` hears silence, loops, cuts, wrong lengths and levels; `asr` also reads the speech back and needs a
    recogniser for the language (see `/v1/models`); `off` checks nothing. `on_exhausted`: what becomes of a segment
    whose last attempt did not pass: the job fails, or the best attempt or silence of the expected length is kept,
    flagged and warned of.
    """

    gate: Literal["off", "basic", "asr"] = "basic"
    max_attempts: int = Field(default=3, ge=1, le=MAX_ATTEMPTS)
    on_exhausted: Literal["fail", "keep_best", "silence"] = "fail"


class ResolvedQuality(Answer):
    gate: Literal["off", "basic", "asr"]
    max_attempts: int
    on_exhausted: Literal["fail", "keep_best", "silence"]


class JobQuality(Answer):
    """`retries`: attempts that did not pass and were spoken again. `flagged_segments`: ids of those that were kept
    although they did not pass, the first 100; `progress.segments.flagged` counts them all.
    """

    gate: Literal["off", "basic", "asr"]
    retries: int
    flagged_segments: list[str]


class JobWarning(Answer):
    """What the caller should know although the job goes on. `segment`: the index of the one it is about, or null."""

    code: str
    detail: str
    segment: int | None
