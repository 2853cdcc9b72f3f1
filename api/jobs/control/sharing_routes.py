"""A link to a finished file, usable without a key."""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import APIRouter, Header

from api.access.idempotent_route import IdempotentRoute
from api.dependencies import KnownJobId, Links, OptionalJsonBytes, Services, Tenant
from api.http.bodies import json_body
from api.http.parsing import parse_body
from api.http.times import moment
from api.jobs.answers.view import JobViewer, file_name
from api.jobs.control.artifact_routes import find_file
from rhapsode.contract.jobs.sharing import SharedLink, ShareOrder

router = APIRouter(prefix="/v1/jobs/{job_id}/artifacts", tags=["artifacts"], route_class=IdempotentRoute)


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
