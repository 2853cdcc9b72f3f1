"""The segments of a job and their sentences: list, read, hear, change, speak again, choose among takes."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Header, Query, Response
from pydantic import Field

from api.access.idempotent_route import IdempotentRoute
from api.dependencies import JsonBytes, KnownJobId, Links, OptionalJsonBytes, Services, Tenant
from api.http.bodies import json_body
from api.http.cursors import StrictQuery, encode_cursor, next_place
from api.http.idempotency_key import idempotency_key
from api.http.parsing import parse_body
from api.http.problems.problem import HttpProblem, invalid_field, problem, segment_damaged
from api.jobs.answers.segment_ids import segment_id, segment_index, sentence_place
from api.jobs.segments.changes import change_segment, change_segments, change_sentence, select_takes
from api.jobs.segments.planned_job import SegmentIndex, read_segment, read_segments
from api.jobs.segments.view import SegmentViewer, shown_attempt
from api.services.container import ApiServices
from rhapsode.contract.jobs.states import JobState
from rhapsode.contract.segments import (
    Segment,
    SegmentChange,
    SegmentList,
    SegmentsChange,
    SegmentState,
    SentenceChange,
    TakeList,
    TakeNumber,
    TakeOrder,
)
from storage.audio.tempo import stretched
from storage.audio.wav import BYTES_PER_SAMPLE, wav_header
from storage.errors import ArtifactCorrupt, ArtifactMissing
from storage.jobs.record import JobRecord
from storage.objects import keys
from storage.objects.stored_segments import read_segment_file, read_verified
from storage.segments.file import SegmentFormatError, StoredSegment, decode_segment
from storage.segments.results import SegmentReport, SegmentResult
from storage.segments.tried import RejectedTake, Rejection

logger = logging.getLogger(__name__)

router = APIRouter(prefix="/v1/jobs/{job_id}", tags=["segments"], route_class=IdempotentRoute)


class SegmentListQuery(StrictQuery):
    """`state` may be repeated. `flagged`: only those that were kept although they did not pass, or only the others."""

    state: list[SegmentState] = Field(default=[])
    flagged: Literal["true", "false"] | None = None
    limit: int = Field(default=100, ge=1, le=1_000)
    cursor: str | None = Field(default=None, max_length=100)


@router.get("/segments", response_model=SegmentList)
def list_segments(
    tenant: Tenant,
    services: Services,
    links: Links,
    job_id: KnownJobId,
    parameters: Annotated[SegmentListQuery, Query()],
) -> SegmentList:
    """In the order of the narration; empty until the text is planned. A cancelled job keeps its finished ones."""
    viewer = read_segments(services, tenant, job_id, links)
    first = next_place(parameters.cursor, "segment") or 0
    wanted = [index for index in range(first, len(viewer.segments)) if _is_wanted(viewer, index, parameters)]
    page, has_more = wanted[: parameters.limit], len(wanted) > parameters.limit
    places = viewer.places(page[-1] + 1) if page else {}
    cursor = encode_cursor(f"segment {page[-1]}") if has_more else None
    data = [viewer.segment(index, places.get(index)) for index in page]
    return SegmentList(data=tuple(data), next_cursor=cursor, has_more=has_more)


@router.patch("/segments", response_model=SegmentList, openapi_extra=json_body(SegmentsChange))
def edit_segments(tenant: Tenant, services: Services, links: Links, job_id: KnownJobId, body: JsonBytes) -> SegmentList:
    """Another voice for many segments, earlier takes, or how words are said. One that is refused leaves all.

    Otherwise as an edit of each, or as the selection of its take. Segments without the words stay. The answer has all
    that were named.
    """
    change = parse_body(SegmentsChange, body)
    indexes = [_named(segment, place) for place, segment in enumerate(change.segments)]
    viewer = read_segments(services, tenant, job_id, links)
    services.tickets.send(change_segments(services, tenant, viewer, indexes, change).tickets)
    viewer = read_segments(services, tenant, job_id, links)
    places = viewer.places(max(indexes) + 1)
    data = tuple(viewer.segment(index, places.get(index)) for index in indexes)
    return SegmentList(data=data, next_cursor=None, has_more=False)


def _named(segment: str, place: int) -> int:
    index = segment_index(segment)
    if index is None:
        raise invalid_field(f"/segments/{place}", "not_found", "ids begin with seg_")
    return index


@router.get("/segments/{segment}", response_model=Segment)
def get_segment(tenant: Tenant, services: Services, links: Links, job_id: KnownJobId, index: SegmentIndex) -> Segment:
    """One segment by its id, `seg_000331`, or its index, with all that was measured of it."""
    return measured_segment(services, read_segment(services, tenant, job_id, index, links), index)


@router.patch("/segments/{segment}", response_model=Segment, openapi_extra=json_body(SegmentChange))
def edit_segment(
    tenant: Tenant, services: Services, links: Links, job_id: KnownJobId, index: SegmentIndex, body: JsonBytes
) -> Segment:
    """Say something else, or say it otherwise. Repeating it is no error.

    A finished segment is generated again at once, as its next take. The job is assembled again when no segment is open.
    A running assembly is aborted. A job that has succeeded is reopened. One that failed, expired or was cancelled stays
    as it is, and the edit is spoken when the job is retried. 409 while a worker speaks the segment.
    """
    change = parse_body(SegmentChange, body)
    viewer = read_segment(services, tenant, job_id, index, links)
    services.tickets.send(change_segment(services, tenant, viewer, index, change).tickets)
    return measured_segment(services, read_segment(services, tenant, job_id, index, links), index)


async def _sentence_place(sentence: str) -> tuple[int, int]:
    """`seg_000331.2`, as the segment's `sentences` name it."""
    place = sentence_place(sentence)
    if place is None:
        raise problem("not_found", f"there is no sentence {sentence[:64]!r}; ids look like seg_000331.2")
    return place


SentencePlace = Annotated[tuple[int, int], Depends(_sentence_place)]


@router.patch("/sentences/{sentence}", response_model=Segment, openapi_extra=json_body(SentenceChange))
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


@router.post(
    "/segments/{segment}/regenerate",
    status_code=202,
    response_model=Segment,
    openapi_extra=json_body(TakeOrder, required=False),
)
def regenerate_segment(
    tenant: Tenant,
    services: Services,
    links: Links,
    job_id: KnownJobId,
    index: SegmentIndex,
    body: OptionalJsonBytes,
    response: Response,
    idempotency_header: Annotated[str | None, Header(alias="Idempotency-Key")] = None,
) -> Segment:
    """Another take of the same text with another seed; otherwise as an edit.

    Every call is another take, unless it bears the Idempotency-Key of an earlier one.
    """
    order = parse_body(TakeOrder, body) if body else TakeOrder()
    path = f"/v1/jobs/{job_id}/segments/{index}/regenerate"
    idempotency = idempotency_key(idempotency_header, body, path)
    outcome = services.jobs.control.regenerate(tenant, job_id, index, order.seed, idempotency)
    services.tickets.send(outcome.tickets)
    shown = measured_segment(services, read_segment(services, tenant, job_id, index, links), index)
    response.headers["Location"] = shown.links.self_
    return shown


@router.get("/segments/{segment}/takes", response_model=TakeList)
def list_takes(tenant: Tenant, services: Services, links: Links, job_id: KnownJobId, index: SegmentIndex) -> TakeList:
    """The finished ones, the oldest first."""
    viewer = read_segment(services, tenant, job_id, index, links)
    return TakeList(data=tuple(viewer.take(index, take) for take in services.jobs.segments.takes(job_id, index)))


@router.post("/segments/{segment}/takes/{take}/select", response_model=Segment)
def select_take(
    tenant: Tenant, services: Services, links: Links, job_id: KnownJobId, index: SegmentIndex, take: TakeNumber
) -> Segment:
    """Put this take into the narration, with the text it was made from; the job is assembled again. Nothing is spoken.

    Repeating it is no error. A job that has not succeeded is only assembled once it is retried.
    """
    viewer = read_segment(services, tenant, job_id, index, links)
    services.tickets.send(select_takes(services, tenant, viewer, {index: take}).tickets)
    return measured_segment(services, read_segment(services, tenant, job_id, index, links), index)


@router.post("/segments/{segment}/attempts/{attempt}/select", response_model=Segment)
def select_attempt(
    tenant: Tenant, services: Services, links: Links, job_id: KnownJobId, index: SegmentIndex, attempt: TakeNumber
) -> Segment:
    """Keep a rejected attempt of a segment that failed: it becomes the segment's take, with its findings.

    Nothing is spoken. The job is assembled once it is retried. Repeating it is no error.
    """
    viewer = read_segment(services, tenant, job_id, index, links)
    rejection = viewer.states.rejections.get(index)
    take = rejection.take(attempt) if rejection else None
    if rejection and take and take.sha256:
        stored = _rejected(services, viewer, index, rejection, take)
        services.artifacts.copy(
            keys.rejected_take(tenant, job_id, index, rejection.fence, attempt),
            keys.segment(tenant, job_id, index, rejection.fence),
        )
        about, chars = stored.header, viewer.segments[index].end - viewer.segments[index].start
        report = SegmentReport(
            take.num_samples, about.sample_rate_hz, chars, take.sha256, about.finish_reason, 0, about.seed,
            len(rejection.takes), take=about.take, loudness_lufs=about.loudness_lufs, flags=take.tried.findings,
            guessed=about.guessed,
        )  # fmt: skip
        services.jobs.control.select_rejected(tenant, job_id, index, rejection.fence, report)
        viewer = read_segment(services, tenant, job_id, index, links)
    elif index not in viewer.states.results:
        raise _no_attempt(index, attempt)
    return measured_segment(services, viewer, index)


@router.get("/segments/{segment}/audio", response_class=Response)
def get_segment_audio(
    tenant: Tenant,
    services: Services,
    links: Links,
    job_id: KnownJobId,
    index: SegmentIndex,
    take: Annotated[TakeNumber | None, Query()] = None,
    attempt: Annotated[TakeNumber | None, Query(description="one that was rejected, of a segment that failed")] = None,
) -> Response:
    """One segment as WAV, at the job's speed: the take in place, or the one named. 404 while there is none.

    409 `segment_damaged` if the store has lost or damaged it; the detail says what to do.
    """
    viewer = read_segment(services, tenant, job_id, index, links)
    if attempt is not None:
        return _rejected_audio(services, viewer, index, attempt)
    if take is None:
        result = viewer.states.results.get(index)
    else:
        takes = services.jobs.segments.takes(job_id, index)
        result = next((each.result for each in takes if each.number == take), None)
    if result is None:
        raise problem(
            "not_found", f"segment {index} has no finished take" if take is None else f"there is no take {take}"
        )
    return _as_wav(_stored(services, viewer.record, result), result.sha256, viewer.speed(index))


def _rejected_audio(services: ApiServices, viewer: SegmentViewer, index: int, attempt: int) -> Response:
    rejection = viewer.states.rejections.get(index)
    take = rejection.take(attempt) if rejection else None
    if rejection is None or take is None or not take.sha256:
        raise _no_attempt(index, attempt)
    return _as_wav(_rejected(services, viewer, index, rejection, take), take.sha256, viewer.speed(index))


def _no_attempt(index: int, attempt: int) -> HttpProblem:
    return problem("not_found", f"segment {index} has no audio of a rejected attempt {attempt}")


def _rejected(
    services: ApiServices, viewer: SegmentViewer, index: int, rejection: Rejection, take: RejectedTake
) -> StoredSegment:
    record = viewer.record
    key = keys.rejected_take(record.tenant, record.id, index, rejection.fence, take.tried.number)
    return _decoded(services, record, index, take.sha256, partial(read_verified, services.artifacts, key, take.sha256))


def _as_wav(segment: StoredSegment, sha256: str, speed: float) -> Response:
    rate_hz = segment.header.sample_rate_hz
    pcm = stretched(bytes(segment.pcm), rate_hz, speed)
    version = sha256 if speed == 1 else f"{sha256}-{speed}"
    return Response(
        wav_header(len(pcm) // BYTES_PER_SAMPLE, rate_hz) + pcm,
        media_type="audio/wav",
        headers={"ETag": f'"{version}"', "Cache-Control": "private, no-cache"},
    )


def _stored(services: ApiServices, record: JobRecord, result: SegmentResult) -> StoredSegment:
    """The segment as it was committed, byte for byte."""
    read = partial(read_segment_file, services.artifacts, record.tenant, record.id, result)
    return _decoded(services, record, result.index, result.sha256, read)


def _decoded(
    services: ApiServices, record: JobRecord, index: int, sha256: str, read: Callable[[], bytes]
) -> StoredSegment:
    """Raises a `HttpProblem` or a `StorageError`."""
    try:
        return decode_segment(read())
    except ArtifactMissing as error:
        services.jobs.store.get(record.tenant, record.id)  # deleted meanwhile: says so
        raise _damaged(services, record, index, sha256, "is not in the store any more", error) from error
    except (ArtifactCorrupt, SegmentFormatError) as error:
        raise _damaged(services, record, index, sha256, "is damaged in the store", error) from error


def _damaged(
    services: ApiServices, record: JobRecord, index: int, sha256: str, what: str, error: Exception
) -> HttpProblem:
    segment = segment_id(index)
    logger.error("segment damaged in the store", extra={"job_id": record.id, "segment": segment, "error": str(error)})
    in_place = services.jobs.segments.results(record.id, [index]).get(index)
    if in_place is None or in_place.sha256 != sha256:
        remedy = "this take is not in place: select another one, or regenerate the segment"
    elif record.state is JobState.SUCCEEDED:
        remedy = f"assemble the job again (POST /v1/jobs/{record.id}/assemble), and the segment is spoken again"
    elif record.state.is_terminal:
        remedy = f"retry the job (POST /v1/jobs/{record.id}/retry), and the segment is spoken again"
    else:
        remedy = "the job's assembly will have it spoken again"
    return segment_damaged(segment, what, remedy)


def _is_wanted(viewer: SegmentViewer, index: int, parameters: SegmentListQuery) -> bool:
    if parameters.state and viewer.states.state(index) not in parameters.state:
        return False
    result = viewer.states.results.get(index)
    return parameters.flagged is None or (parameters.flagged == "true") == bool(result and result.flags)


def measured_segment(services: ApiServices, viewer: SegmentViewer, index: int) -> Segment:
    """One that is there, with all that was measured of it."""
    shown, result = viewer.segment(index, viewer.places(index + 1).get(index)), viewer.states.results.get(index)
    if result is None:
        rejected = viewer.rejected(index)
        best = next((each for each in rejected if each.seed == shown.seed_used), None)
        return shown.model_copy(update={"tried": rejected, "checks": best.checks if best else None})
    header = _stored(services, viewer.record, result).header
    tried = tuple(shown_attempt(each) for each in header.tried)
    return shown.model_copy(update={"checks": dict(header.checks), "tried": tried})
