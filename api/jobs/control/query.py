"""The query of a job list: parameters in, `JobQuery` out."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from api.http.cursors import decode_cursor
from api.http.problems.problem import FieldViolation, HttpProblem, invalid
from rhapsode.contract.base import DateTime
from rhapsode.contract.jobs.states import JobState
from storage.ids import BATCH_ID, JOB_ID, JobId
from storage.job_store.lists import JobQuery

_METADATA = re.compile(r"metadata\[(.{1,64})\]", re.DOTALL)


class JobListQuery(BaseModel):
    """`metadata[name]=value` may be repeated for several names; every one has to match."""

    model_config = ConfigDict(frozen=True, extra="allow")

    limit: int = Field(default=20, ge=1, le=100)
    cursor: str | None = Field(default=None, max_length=100)
    order: Literal["asc", "desc"] = "desc"
    state: list[JobState] = []
    kind: Literal["synthesis", "voice_cache"] | None = None
    created_after: DateTime | None = None
    created_before: DateTime | None = None
    queue: str | None = Field(default=None, max_length=200)
    batch_id: str | None = Field(default=None, pattern=f"^{BATCH_ID.pattern}$")


def job_query(parameters: JobListQuery) -> JobQuery:
    """Raises an `HttpProblem` for an unknown parameter, and for a cursor of another list."""
    after = decode_cursor(parameters.cursor, JOB_ID)
    return JobQuery(
        states=frozenset(parameters.state),
        created_after_ms=_unix_ms(parameters.created_after),
        created_before_ms=_unix_ms(parameters.created_before),
        metadata=_metadata(parameters.model_extra or {}),
        newest_first=parameters.order == "desc",
        after=JobId(after) if after else None,
        limit=parameters.limit,
        kind=parameters.kind,
        queue=parameters.queue,
        batch=JobId(parameters.batch_id) if parameters.batch_id else None,
    )


def _metadata(extra: dict[str, object]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for name, value in extra.items():
        if not (match := _METADATA.fullmatch(name)):
            raise _bad_parameter(name[:64], "unknown_parameter", "there is no such parameter")
        if not isinstance(value, str):
            raise _bad_parameter(name, "repeated", "may be given once")
        pairs[match.group(1)] = value
    return pairs


def _unix_ms(moment: datetime | None) -> int | None:
    return None if moment is None else int(moment.timestamp() * 1000)


def _bad_parameter(name: str, code: str, detail: str) -> HttpProblem:
    return invalid([FieldViolation(code, detail, parameter=name)])
