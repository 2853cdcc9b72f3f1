"""The sentences of a job: one is changed without retyping its neighbours."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends

from api.access.idempotent_route import IdempotentRoute
from api.dependencies import JsonBytes, KnownJobId, Links, Services, Tenant
from api.http.bodies import json_body
from api.http.parsing import parse_body
from api.http.problems.problem import problem
from api.jobs.answers.segment_ids import sentence_place
from api.jobs.segments.changes import change_sentence
from api.jobs.segments.planned_job import read_segment
from api.jobs.segments.routes import measured_segment
from rhapsode.contract.segments import Segment, SentenceChange

router = APIRouter(prefix="/v1/jobs/{job_id}/sentences", tags=["segments"], route_class=IdempotentRoute)


async def _sentence_place(sentence: str) -> tuple[int, int]:
    """`seg_000331.2`, as the segment's `sentences` name it."""
    place = sentence_place(sentence)
    if place is None:
        raise problem("not_found", f"there is no sentence {sentence[:64]!r}; ids look like seg_000331.2")
    return place


SentencePlace = Annotated[tuple[int, int], Depends(_sentence_place)]


@router.patch("/{sentence}", response_model=Segment, openapi_extra=json_body(SentenceChange))
def edit_sentence(
    tenant: Tenant, services: Services, links: Links, job_id: KnownJobId, place: SentencePlace, body: JsonBytes
) -> Segment:
    """Say something else in place of one sentence; the answer is its segment. Otherwise as a change of a segment.

    `text` is read as the job's text was: with its dictionaries, figures and signs as words. Repeating it is no error.
    """
    change = parse_body(SentenceChange, body)
    index, _ = place
    viewer = read_segment(services, tenant, job_id, index, links)
    services.tickets.send(change_sentence(services, tenant, viewer, place, change).tickets)
    return measured_segment(services, read_segment(services, tenant, job_id, index, links), index)
