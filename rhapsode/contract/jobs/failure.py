"""Why a job did not succeed: the public contract."""

from __future__ import annotations

from pydantic import Field

from rhapsode.contract.base import Answer
from rhapsode.contract.problems import TYPE


class SegmentProblem(Answer):
    """What is wrong with one segment. `segment`: its id, as `/v1/jobs/{id}/segments` has it."""

    segment: str
    code: str
    detail: str


class JobProblem(Answer):
    """Why the job did not succeed, as a problem document (RFC 9457) without a request.

    `status`: the status of a call that waits for the job; null without a fault of a caller or the server.
    `instance`: the job's path. `retryable`: whether `POST …/retry` may succeed without a change. `errors`: the faulty
    segment, if there is one.
    """

    type: str = Field(description=TYPE)
    title: str
    status: int | None
    detail: str
    instance: str
    code: str
    retryable: bool
    errors: tuple[SegmentProblem, ...]
    segment: int | None = Field(
        description="index of the segment at fault; in a job of kind `voice_cache` of the voice"
    )
