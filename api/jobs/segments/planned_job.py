"""A narration that has a plan: what every route about its segments begins with."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends

from api.http.links import LinkBuilder
from api.http.problems.problem import problem
from api.jobs.answers.segment_ids import segment_index
from api.jobs.segments.view import SegmentViewer
from api.services.container import ApiServices
from reading.plan.plan import Plan, PlanFormatError
from storage.errors import ArtifactMissing, SegmentNotFound
from storage.ids import JobId, TenantId
from storage.jobs.record import JobRecord
from storage.narration.spec import NarrationSpec
from storage.objects import keys


async def _segment_index(segment: str) -> int:
    """`seg_000331`, or the index alone."""
    index = segment_index(segment)
    if index is None:
        raise problem("not_found", f"there is no segment {segment[:64]!r}; ids begin with seg_")
    return index


PLAN_LOST = "the store has lost the plan of this job: its finished files can be downloaded; submit it again for more"

SegmentIndex = Annotated[int, Depends(_segment_index)]


def read_segments(services: ApiServices, tenant: TenantId, job_id: JobId, links: LinkBuilder) -> SegmentViewer:
    """The job's segments as they are now, none before it is planned. Raises a `Problem` or a `StorageError`."""
    narration_of(services.jobs.store.get(tenant, job_id))  # the results of other jobs are none of segments
    # Before the record, which then knows at least the sample rate of every result that is here.
    states = services.jobs.segments.states(job_id)
    record = services.jobs.store.get(tenant, job_id)
    spec = narration_of(record)
    has_words = any(each.changes_words for each in states.edits.values())
    wanted = len(spec.request.pronunciation_dictionaries) if has_words else 0
    try:
        dictionaries = tuple(
            services.artifacts.get(keys.job_dictionary(tenant, job_id, each)) for each in range(wanted)
        )
    except ArtifactMissing:
        dictionaries = ()  # The texts can still be read. A worker says what it lacks.
    return SegmentViewer(record, spec, plan_of(services, record).segments, states, links, dictionaries)


def read_segment(
    services: ApiServices, tenant: TenantId, job_id: JobId, index: int, links: LinkBuilder
) -> SegmentViewer:
    """As `read_segments`, for a segment that has to be there."""
    viewer = read_segments(services, tenant, job_id, links)
    if index >= len(viewer.segments):
        raise SegmentNotFound
    return viewer


def narration_of(record: JobRecord) -> NarrationSpec:
    if not isinstance(record.spec, NarrationSpec):
        raise problem("state_conflict", "a job of kind voice_cache has no segments; see /v1/voice-caches")
    return record.spec


def plan_of(services: ApiServices, record: JobRecord) -> Plan:
    """Empty before the job is planned. Raises a `Problem` for a lost or damaged plan, or a `StorageError`."""
    if not record.is_planned:
        return Plan(())
    try:
        return services.jobs.plans.of(record)
    except (ArtifactMissing, PlanFormatError) as error:
        # Unless the job was deleted between the two reads.
        services.jobs.store.get(record.tenant, record.id)
        raise problem("state_conflict", PLAN_LOST) from error
