"""What was made, by day and API key, as answers: the public contract."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from rhapsode.contract.base import Answer, Day

Grouping = Literal["day", "key"]


class UsageQuery(BaseModel):
    """Days of UTC, both included. Without them: the thirty days that end today.

    group_by: what a row is about, `day`, `key` or (by default) both; repeat it for both.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    first: Annotated[Day | None, Field(alias="from")] = None
    last: Annotated[Day | None, Field(alias="to")] = None
    group_by: list[Grouping] = Field(default=["day", "key"], min_length=1, max_length=2)
    format: Literal["json", "csv"] = "json"


class UsageAmounts(Answer):
    """`audio_s` is of everything that was made; `cached_audio_s` is the part of it that no engine had to speak.

    `engine_s` counts attempts that the quality gate rejected, too, and the preparation of voices.
    """

    segments: int
    characters: int
    audio_s: float
    cached_audio_s: float
    engine_s: float


class UsageRow(UsageAmounts):
    """`day` and `key_id` as far as `group_by` says. `key_id` is null for keys that have no id, too."""

    day: date | None
    key_id: str | None


class UsageReport(Answer):
    """Days without any usage have no row. Counts are kept for 400 days."""

    object: Literal["usage"] = "usage"
    first: date = Field(validation_alias="from", serialization_alias="from")
    last: date = Field(validation_alias="to", serialization_alias="to")
    data: tuple[UsageRow, ...]
    total: UsageAmounts
