"""What a job's record says of its segments' quality, as the API shows it. Pure."""

from __future__ import annotations

from api.jobs.answers.segment_ids import segment_id
from rhapsode.contract.jobs.quality import SEGMENT_QUALITY, JobQuality, JobWarning
from storage.jobs.record import JobRecord
from storage.jobs.warnings import SEGMENT_GAP
from storage.narration.spec import NarrationSpec


def job_quality(record: JobRecord) -> JobQuality | None:
    """None for a job that speaks nothing."""
    if not isinstance(record.spec, NarrationSpec):
        return None
    return JobQuality(
        gate=record.spec.request.quality.gate,
        retries=record.rerolls,
        flagged_segments=_warned_of(record, SEGMENT_QUALITY),
        gaps=_warned_of(record, SEGMENT_GAP),
    )


def _warned_of(record: JobRecord, code: str) -> tuple[str, ...]:
    segments = sorted(each.segment for each in record.warnings if each.code == code and each.segment is not None)
    return tuple(segment_id(index) for index in segments)


def job_warnings(record: JobRecord) -> tuple[JobWarning, ...]:
    return tuple(JobWarning(code=each.code, detail=each.detail, segment=each.segment) for each in record.warnings)
