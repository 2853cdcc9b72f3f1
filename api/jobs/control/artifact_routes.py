"""What a job made: the list, a link per name, and links that need no key."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Annotated

from fastapi import APIRouter, Header, Query, Response
from pydantic import Field

from api.access.idempotent_route import IdempotentRoute
from api.dependencies import KnownAsked, KnownJobId, Links, OptionalJsonBytes, Services, Tenant
from api.http.bodies import json_body
from api.http.cursors import StrictQuery, encode_cursor, next_place
from api.http.links import URL_TTL_S
from api.http.parsing import parse_body
from api.http.problems.problem import problem
from api.http.times import moment
from api.jobs.answers.view import JobViewer, file_name, find_artifact
from api.services.container import ApiServices
from rhapsode.contract.jobs import answer as schemas
from rhapsode.contract.jobs.sharing import SharedLink, ShareOrder
from storage.errors import ArtifactMissing
from storage.jobs.chapter_files import CHAPTERS, ListedFile, as_artifact
from storage.jobs.record import ArtifactRecord, JobRecord

router = APIRouter(prefix="/v1/jobs/{job_id}/artifacts", tags=["artifacts"], route_class=IdempotentRoute)

MOST_NAMED = 20
"""Names that a refusal lists."""


class ArtifactListQuery(StrictQuery):
    limit: int = Field(default=100, ge=1, le=1_000)
    cursor: str | None = Field(default=None, max_length=100)


CODES_NAME = "codes.safetensors"


@router.get("", response_model=schemas.ArtifactList)
def list_artifacts(
    tenant: Tenant,
    services: Services,
    links: Links,
    job_id: KnownJobId,
    parameters: Annotated[ArtifactListQuery, Query()],
) -> schemas.ArtifactList:
    """Empty until the job has succeeded. Files of chapters come behind those that the job itself shows."""
    record = services.jobs.store.get(tenant, job_id)
    viewer = JobViewer(services.artifacts, links, time.time())
    first = next_place(parameters.cursor, "file") or 0
    end = first + parameters.limit
    own, listed = viewer.artifact_list(record), [*_listed(services, record)]
    num_own, num = len(own), len(own) + len(listed)
    files = listed[max(0, first - num_own) : max(0, end - num_own)]
    cursor = encode_cursor(f"file {end - 1}") if end < num else None
    data = (*own[first:end], *viewer.chapter_files(record, files))
    return schemas.ArtifactList(data=data, next_cursor=cursor, has_more=cursor is not None)


@router.get("/{name}", status_code=302, response_class=Response)
def get_artifact(asked: KnownAsked, job_id: KnownJobId, name: str) -> Response:
    """Leads to the object itself, by a link that needs no credentials for fifteen minutes."""
    services = asked.services
    record = services.jobs.store.get(asked.tenant, job_id)
    artifact = find_file(services, record, name)
    viewer = JobViewer(services.artifacts, asked.links, time.time())
    location = viewer.download_url(record, artifact, URL_TTL_S)
    return Response(status_code=302, headers={"Location": location, "Cache-Control": "no-store"})


def find_file(services: ApiServices, record: JobRecord, name: str) -> ArtifactRecord:
    """Of the job itself, or of a chapter. Raises a `Problem` if there is none."""
    artifact = find_artifact(record.artifacts, name) or _find_listed(services, record, name)
    if artifact is None and name == CODES_NAME and record.artifacts:
        raise problem("not_found", f"job {record.id} has no {CODES_NAME}: its model speaks without codes")
    if artifact is None:
        raise problem("not_found", f"job {record.id} has no artifact {name[:64]!r}; it has: {_names(record)}")
    return artifact


def _listed(services: ApiServices, record: JobRecord) -> Iterator[ListedFile]:
    """Every file of a chapter, format by format."""
    for listing in record.artifacts:
        if listing.type == CHAPTERS:
            try:
                files = services.jobs.chapter_files.get(listing.key)
            except ArtifactMissing:
                raise problem("not_found", f"{listing.name} of job {record.id} is not in the store any more") from None
            yield from ((file, as_artifact(file, listing)) for file in files)


def _find_listed(services: ApiServices, record: JobRecord, name: str) -> ArtifactRecord | None:
    return find_artifact([artifact for _, artifact in _listed(services, record)], name)


def _names(record: JobRecord) -> str:
    if not record.artifacts:
        return f"nothing while it is {record.state}"
    names = ", ".join(artifact.name for artifact in record.artifacts[:MOST_NAMED])
    listed = sum(artifact.listed for artifact in record.artifacts)
    return f"{names}, and {listed} files of chapters" if listed else names


@router.post("/{name}/share", response_model=SharedLink, openapi_extra=json_body(ShareOrder, required=False))
def share_artifact(
    tenant: Tenant,
    services: Services,
    links: Links,
    job_id: KnownJobId,
    name: str,
    body: OptionalJsonBytes,
    idempotency_header: Annotated[str | None, Header(alias="Idempotency-Key")] = None,
) -> SharedLink:
    """A link to the file that needs no credentials for up to a week.

    Nothing is kept of it. It ends sooner if the job is deleted or its files are made again.
    """
    order = parse_body(ShareOrder, body) if body else ShareOrder()
    record = services.jobs.store.get(tenant, job_id)
    artifact = find_file(services, record, name)
    now_s = int(time.time())
    expires_s = now_s + order.expires_in_s
    if record.expires_at_ms is not None:
        expires_s = max(now_s + 1, min(expires_s, record.expires_at_ms // 1000))
    viewer = JobViewer(services.artifacts, links, now_s)
    return SharedLink(
        name=artifact.name,
        filename=file_name(record, artifact),
        url=viewer.download_url(record, artifact, expires_s - now_s),
        expires_at=moment(expires_s * 1000),
    )
