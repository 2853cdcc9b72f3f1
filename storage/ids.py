"""New ids. They begin with the time, so that ids sort by age."""

from __future__ import annotations

from ulid import ULID

from storage.jobs import JobId


def new_job_id() -> JobId:
    """`job_` and a lower-case ULID: 48 bits of Unix milliseconds, 80 random bits."""
    return JobId(f"job_{str(ULID()).lower()}")
