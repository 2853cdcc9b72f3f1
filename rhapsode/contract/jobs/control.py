"""What a caller may ask of a job that was accepted: the public contract."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from rhapsode.contract.base import DateTime, MetadataKey, MetadataValue, RequestBody
from rhapsode.contract.jobs.input import MAX_SEED
from rhapsode.contract.jobs.output import OutputChange
from rhapsode.contract.jobs.quality import QualityRequest
from rhapsode.contract.jobs.request import DAY_S, MAX_METADATA_PAIRS, SamplingRequest


class RetryRequest(RequestBody):
    """What is spoken from now on is spoken and checked like this; a field that is absent stays as the job has it."""

    quality: QualityRequest | None = Field(default=None, description="absent: as the job has it")
    sampling: SamplingRequest | None = Field(default=None, description="absent: as the job has it")
    seed: int | None = Field(default=None, ge=0, le=MAX_SEED, description="of the job; absent: as the job has it")


class AssembleRequest(RequestBody):
    """What changes of the job's output. Absent: nothing, the same files are made anew."""

    output: OutputChange | None = None


class JobChange(RequestBody):
    """A field that is absent stays as it is. `deadline`: null removes it. `metadata` replaces all there is.

    `not_before`: of a job whose time has not come; null lets it start at once.
    """

    priority: Literal["high", "normal", "low"] | None = None
    not_before: DateTime | None = None
    deadline: DateTime | None = None
    metadata: dict[MetadataKey, MetadataValue] | None = Field(default=None, max_length=MAX_METADATA_PAIRS)
    retention_s: int | None = Field(default=None, ge=60, le=90 * DAY_S)
