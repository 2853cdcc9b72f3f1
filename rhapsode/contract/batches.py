"""The bodies of requests and answers about batches: the public contract."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from rhapsode.contract.base import Answer, Id, Metadata, Name, RequestBody
from rhapsode.contract.jobs.answer import Artifact
from rhapsode.contract.jobs.failure import JobProblem
from rhapsode.contract.jobs.schedule import DAY_S
from rhapsode.contract.jobs.states import JobState


class BatchOrder(RequestBody):
    """Many jobs at once: an upload with one in each line, as JSON.

    A line is a `JobRequest` with a `custom_id` beside it. A line takes no documents,
    dictionaries, speaker embeddings, webhooks, covers and `validate_only`.

    `sha256`: of the file; another file is refused. With an Idempotency-Key, a repeat may name another upload of it.
    """

    upload_id: Name
    sha256: str | None = Field(default=None, pattern="^[0-9a-f]{64}$")
    retention_s: int = Field(default=7 * DAY_S, ge=60, le=90 * DAY_S)
    metadata: Metadata = Field(default={})


class BatchCounts(Answer):
    """`made`: lines that are jobs by now. Jobs that are retried after their end are not counted again."""

    total: int
    made: int
    succeeded: int
    failed: int
    cancelled: int
    expired: int

    @property
    def ended(self) -> int:
        return self.succeeded + self.failed + self.cancelled + self.expired


class BatchLinks(Answer):
    self_: str = Field(validation_alias="self", serialization_alias="self")
    jobs: str
    results: str
    cancel: str


class Batch(Answer):
    """`state`: `succeeded` once every job has ended, however it did; `counts` says how. A batch that is cancelled is
    `cancelling` until all of its jobs have ended, and then `cancelled`.
    """

    id: Id
    object: Literal["batch"] = "batch"
    state: JobState
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    expires_at: datetime | None
    counts: BatchCounts
    metadata: dict[str, str]
    links: BatchLinks


class BatchList(Answer):
    data: tuple[Batch, ...]
    next_cursor: str | None
    has_more: bool


class BatchResult(Answer):
    """One line of the results, in the order of the file. `job_id`: null while the line is no job."""

    custom_id: str
    line: int
    job_id: Id | None
    state: JobState | None
    artifacts: tuple[Artifact, ...]
    error: JobProblem | None
    audio_s: float
