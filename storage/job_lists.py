"""Pages of a tenant's jobs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from storage.job_states import JobState
from storage.jobs import JobId, JobRecord


@dataclass(frozen=True, slots=True)
class JobQuery:
    """Filters and paging of a job list. `after` is the id of the last job of the previous page.

    batch: only jobs of this batch, which has to be the tenant's. kind: None for both.
    """

    states: frozenset[JobState] = frozenset()
    created_after_ms: int | None = None
    created_before_ms: int | None = None
    metadata: dict[str, str] = field(default_factory=dict[str, str])
    newest_first: bool = True
    after: JobId | None = None
    limit: int = 20
    batch: JobId | None = None
    kind: Literal["synthesis", "voice_cache"] | None = None


@dataclass(frozen=True, slots=True)
class JobPage:
    """One page of a list. The next one starts after `scanned_to`, which filters may move past the last job."""

    jobs: tuple[JobRecord, ...]
    has_more: bool
    scanned_to: JobId | None = None
