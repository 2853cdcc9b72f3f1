"""What a caller may ask of a job that was accepted: the public contract."""

from __future__ import annotations

from pydantic import Field

from rhapsode.contract.base import Choice, DateTime, Metadata, RequestBody
from rhapsode.contract.jobs.input import MAX_SEED
from rhapsode.contract.jobs.options import Sampling
from rhapsode.contract.jobs.output import OutputChange
from rhapsode.contract.jobs.quality import Quality
from rhapsode.contract.jobs.schedule import Retention
from rhapsode.contract.jobs.states import Priority


class RetryRequest(RequestBody):
    """What is spoken from now on is spoken and checked like this; a field that is absent stays as the job has it."""

    quality: Quality | None = Field(default=None, description="absent: as the job has it")
    sampling: Sampling | None = Field(default=None, description="absent: as the job has it")
    seed: int | None = Field(default=None, ge=0, le=MAX_SEED, description="of the job; absent: as the job has it")


class AssembleRequest(RequestBody):
    """What changes of the job's output. Absent: make the same files again."""

    output: OutputChange | None = None


class JobChange(RequestBody):
    """A field that is absent stays as it is. `deadline`: null removes it. `metadata` replaces all there is.

    `not_before`: of a job whose time has not come; null lets it start at once.
    """

    priority: Choice[Priority] | None = None
    not_before: DateTime | None = None
    deadline: DateTime | None = None
    metadata: Metadata | None = None
    retention_s: Retention | None = None
