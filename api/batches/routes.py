"""Batches: many jobs in one file; counts, results, cancel."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Annotated, Any

from anyio.to_thread import run_sync
from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import Field

from api.acceptance.acceptance import find_response
from api.access.caller_key import caller_key
from api.access.idempotent_route import IdempotentRoute
from api.batches.lines import MAX_LINES, store_shards
from api.dependencies import Links, Services, Tenant, id_like
from api.http.bodies import body, refer
from api.http.cursors import PageQuery, StrictQuery, decode_cursor, encode_cursor
from api.http.idempotency_key import idempotency_key
from api.http.json_body import parse_json
from api.http.links import LinkBuilder
from api.http.parsing import parse_body
from api.http.problems.problem import HttpProblem, invalid_field, problem
from api.http.times import moment, optional_moment
from api.jobs.answers.failure_view import job_problem
from api.jobs.answers.view import JobViewer, audio_s_done
from api.services.container import ApiServices
from api.uploads.named import upload_pieces
from rhapsode.contract.batches import Batch, BatchCounts, BatchLinks, BatchList, BatchOrder, BatchResult
from rhapsode.contract.jobs.schedule import DAY_S
from rhapsode.contract.jobs.states import Priority
from storage.errors import AdmissionRefused, IdempotencyMismatch
from storage.ids import BATCH_ID, JobId, TenantId, new_batch_id
from storage.jobs.batch_lines import BatchLine, decode_shard
from storage.jobs.batches import SHARD_LINES, BatchSpec, child_id, num_shards
from storage.jobs.record import JobRecord
from storage.jobs.submissions import Submission
from storage.objects import keys

router = APIRouter(prefix="/v1/batches", tags=["batches"], route_class=IdempotentRoute)

LINE_TYPES = ("application/jsonl", "application/x-ndjson", "application/x-jsonlines")

_BODY = body(
    {
        "application/json": BatchOrder,
        LINE_TYPES[0]: {"type": "string", "description": "one job request with a custom_id a line"},
    }
)
_RESULTS: dict[int | str, dict[str, Any]] = {200: {"content": {LINE_TYPES[0]: {"schema": refer(BatchResult)}}}}


class ResultsQuery(StrictQuery):
    """Lines of the results, counted from 0 as they are sent; the file's own empty lines do not count."""

    offset: int = Field(default=0, ge=0, le=MAX_LINES)
    limit: int = Field(default=MAX_LINES, ge=1, le=MAX_LINES)


KnownBatchId = Annotated[JobId, id_like(BATCH_ID, "batch")]


@router.post("", status_code=202, response_model=Batch, openapi_extra=_BODY)
async def post_batch(
    request: Request,
    tenant: Tenant,
    services: Services,
    links: Links,
    idempotency_header: Annotated[str | None, Header(alias="Idempotency-Key")] = None,
) -> Response:
    """Accept up to 100,000 jobs, all or none: an upload that holds them, or the lines themselves as the body.

    Every line is checked before anything runs. The jobs are made as there is room for them; see `counts`.
    """
    body = await request.body()
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return await run_sync(_accept, services, tenant, links, media_type, body, idempotency_header)


@router.get("", response_model=BatchList)
def list_batches(
    tenant: Tenant, services: Services, links: Links, parameters: Annotated[PageQuery, Query()]
) -> BatchList:
    """The tenant's batches, newest first."""
    after = decode_cursor(parameters.cursor, BATCH_ID)
    page = services.jobs.store.list_batches(tenant, JobId(after) if after else None, parameters.limit)
    cursor = encode_cursor(page.next_after) if page.next_after else None
    return BatchList(
        data=tuple(_shown(each, links) for each in page.entries), next_cursor=cursor, has_more=cursor is not None
    )


@router.get("/{batch_id}", response_model=Batch)
def get_batch(tenant: Tenant, services: Services, links: Links, batch_id: KnownBatchId) -> Batch:
    return _shown(services.jobs.store.get(tenant, batch_id), links)


@router.post("/{batch_id}/cancel", status_code=202, response_model=Batch)
def cancel_batch(tenant: Tenant, services: Services, links: Links, batch_id: KnownBatchId) -> Batch:
    """No further line becomes a job, and those that have not ended are cancelled. Repeating it is no error.

    It is answered at once: a batch is `cancelling` until the last of its jobs has ended; `counts` says how many have.
    """
    services.tickets.send(services.jobs.store.cancel(tenant, batch_id).tickets)
    # A small one is done with that; the janitor goes on with the others.
    _, tickets = services.jobs.store.recall(batch_id)
    services.tickets.send(tickets)
    return _shown(services.jobs.store.get(tenant, batch_id), links)


@router.delete("/{batch_id}", status_code=204)
def delete_batch(tenant: Tenant, services: Services, batch_id: KnownBatchId) -> None:
    """Forget a batch that has ended; its jobs stay until their own retention is over. Repeating it is no error."""
    services.jobs.store.delete(tenant, batch_id)
    services.artifacts.delete_prefix(keys.job_prefix(tenant, batch_id))


@router.get("/{batch_id}/results", response_class=StreamingResponse, responses=_RESULTS)
def get_results(
    tenant: Tenant,
    services: Services,
    links: Links,
    batch_id: KnownBatchId,
    parameters: Annotated[ResultsQuery, Query()],
) -> StreamingResponse:
    """One line for each line of the file, in its order, as they stand now; the batch need not have ended.

    `offset` and `limit` choose a part: a client that was cut off goes on where it was.
    """
    record = services.jobs.store.get(tenant, batch_id)
    headers = {"Content-Disposition": f'attachment; filename="{batch_id}.jsonl"'}
    wanted = range(parameters.offset, min(parameters.offset + parameters.limit, _spec(record).num_lines))
    return StreamingResponse(_results(services, links, record, wanted), media_type=LINE_TYPES[0], headers=headers)


def _accept(
    services: ApiServices,
    tenant: TenantId,
    links: LinkBuilder,
    media_type: str,
    body: bytes,
    idempotency_header: str | None,
) -> Response:
    key = idempotency_key(idempotency_header, _comparable(media_type, body), "/v1/batches")
    if key and (replayed := find_response(services.jobs.store, tenant, key)):
        return _answer(_shown(replayed, links), {"Idempotency-Replayed": "true"})
    order, pieces = _file(services, tenant, media_type, body)
    batch = new_batch_id()
    num_lines = store_shards(services.intake, tenant, batch, pieces)
    submission = Submission(
        id=batch,
        tenant=tenant,
        spec=BatchSpec(num_lines, num_shards(num_lines)),
        priority=Priority.LOW,
        input_key=keys.batch_shard(tenant, batch, 0),
        input_chars=0,
        estimated_audio_ms=0,
        retention_s=7 * DAY_S if order is None else order.retention_s,
        metadata={} if order is None else dict(order.metadata),
        idempotency=key,
        key_id=caller_key(),
    )
    try:
        submitted = services.jobs.store.submit(submission)
    except (AdmissionRefused, IdempotencyMismatch):
        services.artifacts.delete_prefix(keys.job_prefix(tenant, batch))
        raise
    if submitted.replayed:
        services.artifacts.delete_prefix(keys.job_prefix(tenant, batch))
    else:
        services.intake.journal.add(submission)
    services.tickets.send(submitted.tickets)
    return _answer(_shown(submitted.job, links), {"Idempotency-Replayed": "true"} if submitted.replayed else {})


def _file(
    services: ApiServices, tenant: TenantId, media_type: str, body: bytes
) -> tuple[BatchOrder | None, Iterable[bytes]]:
    if media_type in LINE_TYPES:
        return None, (body,)
    if media_type != "application/json":
        raise problem(
            "unsupported_media", f"the body must be {LINE_TYPES[0]}, or application/json that names an upload"
        )
    order = parse_body(BatchOrder, body)
    pieces = upload_pieces(
        services.artifacts, tenant, order.upload_id, "/upload_id", services.settings.max_upload_bytes
    )
    return order, pieces if order.sha256 is None else _verified(pieces, order.sha256)


def _verified(pieces: Iterable[bytes], sha256: str) -> Iterator[bytes]:
    """Raises the `HttpProblem` that another file has arrived, once all of it was read."""
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
        yield piece
    if digest.hexdigest() != sha256:
        raise invalid_field("/sha256", "mismatch", f"what arrived has the digest {digest.hexdigest()}")


def _comparable(media_type: str, body: bytes) -> bytes:
    """What two requests under one key must have in common: not the upload, where its digest is given."""
    if media_type in LINE_TYPES:
        return body
    try:
        order = parse_json(body)
    except HttpProblem:
        # It will be refused for that.
        return body
    if not isinstance(order, dict) or order.get("sha256") is None:
        return body
    return json.dumps({**order, "upload_id": None}, sort_keys=True).encode()


def _answer(batch: Batch, headers: dict[str, str]) -> Response:
    return Response(
        batch.model_dump_json(by_alias=True), 202, {"Location": batch.links.self_, **headers}, "application/json"
    )


def _shown(record: JobRecord, links: LinkBuilder) -> Batch:
    spec = _spec(record)
    own = links.batch(record.id)
    return Batch(
        id=record.id,
        state=record.state,
        created_at=moment(record.created_at_ms),
        started_at=optional_moment(record.started_at_ms),
        finished_at=optional_moment(record.finished_at_ms),
        expires_at=optional_moment(record.expires_at_ms),
        counts=BatchCounts(total=spec.num_lines, made=_num_made(record, spec), **asdict(record.children)),
        metadata=record.metadata,
        links=BatchLinks(
            self_=own,
            jobs=f"{links.base}/v1/jobs?batch_id={record.id}",
            results=f"{own}/results",
            cancel=f"{own}/cancel",
        ),
    )


def _spec(record: JobRecord) -> BatchSpec:
    if not isinstance(record.spec, BatchSpec):
        raise TypeError(f"{record.id} is no batch")
    return record.spec


def _num_made(record: JobRecord, spec: BatchSpec) -> int:
    """By whole shards, and at least those that have ended."""
    if record.segments.done == spec.num_shards:
        return spec.num_lines
    whole = -(-spec.num_lines // spec.num_shards) if spec.num_shards else 0
    return max(record.segments.done * whole, record.children.ended)


def _results(services: ApiServices, links: LinkBuilder, batch: JobRecord, wanted: range) -> Iterator[bytes]:
    """wanted: which lines, counted from 0 over all shards."""
    viewer = JobViewer(services.artifacts, links, time.time())
    for index in range(wanted.start // SHARD_LINES, num_shards(wanted.stop) if wanted else 0):
        first = index * SHARD_LINES
        shard = decode_shard(services.artifacts.get(keys.batch_shard(batch.tenant, batch.id, index)))
        lines = shard[max(0, wanted.start - first) : wanted.stop - first]
        jobs = services.jobs.store.get_many(batch.tenant, [JobId(child_id(batch.id, line.number)) for line in lines])
        for line, record in zip(lines, jobs, strict=True):
            yield _result(line, record, viewer).model_dump_json().encode() + b"\n"


def _result(line: BatchLine, record: JobRecord | None, viewer: JobViewer) -> BatchResult:
    if record is None:
        return BatchResult(
            custom_id=line.custom_id, line=line.number, job_id=None, state=None, artifacts=(), error=None, audio_s=0.0
        )
    return BatchResult(
        custom_id=line.custom_id,
        line=line.number,
        job_id=record.id,
        state=record.state,
        artifacts=viewer.artifact_list(record),
        error=job_problem(record),
        audio_s=audio_s_done(record),
    )
