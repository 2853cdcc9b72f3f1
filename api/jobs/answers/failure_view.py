"""A failure that a job's record holds, as the problem document that the API shows. Pure."""

from __future__ import annotations

from api.http.problems.codes import JOB_CODES, problem_type
from api.jobs.answers.segment_ids import segment_id
from rhapsode.contract.jobs.failure import JobProblem, SegmentProblem
from storage.jobs.record import JobError, JobRecord
from storage.narration.spec import NarrationSpec

UNKNOWN_TITLE = "The job did not succeed"
"""Of a code that a newer worker wrote while the API is still of the version before."""


def job_problem(record: JobRecord) -> JobProblem | None:
    """None while nothing is wrong."""
    error = record.error
    if error is None:
        return None
    kind = JOB_CODES.get(error.code)
    return JobProblem(
        type=problem_type(error.code),
        title=kind.title if kind else UNKNOWN_TITLE,
        status=failure_status(error.code),
        detail=error.detail,
        instance=f"/v1/jobs/{record.id}",
        code=error.code,
        retryable=kind.retry_helps if kind else False,
        errors=tuple(_segments_at_fault(record, error)),
        segment=error.segment,
    )


def failure_status(code: str) -> int | None:
    """What a call that waits for the job answers: the gravest status of the code, None if it has none."""
    kind = JOB_CODES.get(code)
    return max(kind.statuses, default=None) if kind else None


def _segments_at_fault(record: JobRecord, error: JobError) -> list[SegmentProblem]:
    if error.segment is None or not isinstance(record.spec, NarrationSpec):
        return []
    return [SegmentProblem(segment=segment_id(error.segment), code=error.code, detail=error.detail)]
