"""When a job is done, how urgently, and how long it is kept: what its owner may change on the way."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from rhapsode.contract.base import Choice, DateTime, RequestBody
from rhapsode.contract.jobs.states import Priority

DAY_S = 24 * 3600

Retention = Annotated[int, Field(ge=60, le=90 * DAY_S)]


class Schedule(RequestBody):
    """Fields that functions in Redis read: a job's record stores each separately."""

    priority: Choice[Priority] = Field(default=Priority.NORMAL, description="`high`: interactive; `low`: bulk")
    not_before: DateTime | None = Field(default=None, description="start after this time, at most 90 days ahead")
    deadline: DateTime | None = Field(default=None, description="a running job fails then; a waiting job expires")
    retention_s: Retention = Field(default=7 * DAY_S, description="seconds to keep the result after the end")
