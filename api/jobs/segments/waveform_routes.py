"""`GET /v1/jobs/{id}/waveform`: the peaks of each finished segment, to draw a waveform."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from api.dependencies import KnownJobId, Links, Services, Tenant
from api.http.cursors import StrictQuery, encode_cursor, next_place
from api.jobs.answers.segment_ids import segment_id
from api.jobs.segments.planned_job import plan_of, read_segments
from api.services.container import ApiServices
from reading.plan.plan import Chapter
from rhapsode.contract.waveforms import SegmentPeaks, Waveform, WaveformChapter
from storage.errors import ArtifactCorrupt, ArtifactMissing
from storage.jobs.record import JobRecord
from storage.objects.stored_segments import read_segment_header
from storage.segments.file import SegmentFormatError
from storage.segments.results import SegmentResult

logger = logging.getLogger(__name__)

router = APIRouter(prefix="/v1/jobs/{job_id}/waveform", tags=["segments"])


class WaveformQuery(StrictQuery):
    """`first`: index of the first segment that is wanted."""

    limit: int = Field(default=100, ge=1, le=200)
    cursor: str | None = Field(default=None, max_length=100)
    first: int = Field(default=0, ge=0, le=9_999_999)


@router.get("", response_model=Waveform)
def get_waveform(
    tenant: Tenant, services: Services, links: Links, job_id: KnownJobId, parameters: Annotated[WaveformQuery, Query()]
) -> Waveform:
    """What a waveform is drawn of, with the chapters. A take keeps its peaks: ask again for what has another digest."""
    viewer = read_segments(services, tenant, job_id, links)
    first = next_place(parameters.cursor, "peaks") or parameters.first
    done = [result for index, result in sorted(viewer.states.results.items()) if index >= first]
    page, has_more = done[: parameters.limit], len(done) > parameters.limit
    return Waveform(
        chapters=_chapters(plan_of(services, viewer.record).chapters),
        data=tuple(_peaks(services, viewer.record, result) for result in page),
        next_cursor=encode_cursor(f"peaks {page[-1].index}") if has_more else None,
        has_more=has_more,
    )


def _chapters(chapters: Sequence[Chapter]) -> tuple[WaveformChapter, ...]:
    return tuple(WaveformChapter(title=each.title, first_segment=each.first_segment) for each in chapters)


def _peaks(services: ApiServices, record: JobRecord, result: SegmentResult) -> SegmentPeaks:
    return SegmentPeaks(
        segment=segment_id(result.index),
        index=result.index,
        sha256=result.sha256,
        peaks=_stored_peaks(services, record, result) or None,
    )


def _stored_peaks(services: ApiServices, record: JobRecord, result: SegmentResult) -> str:
    try:
        return read_segment_header(services.artifacts, record.tenant, record.id, result).peaks
    except (ArtifactMissing, ArtifactCorrupt, SegmentFormatError) as error:
        # The audio route returns the error. A waveform has a gap there.
        fields = {"job_id": record.id, "segment": segment_id(result.index), "error": str(error)}
        logger.warning("no peaks of a segment", extra=fields)
        return ""
