"""Uploads: files too large for a request, or needed by several, on their way into the store past the API."""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import APIRouter, Response

from api.access.idempotent_route import IdempotentRoute
from api.dependencies import JsonBytes, Links, Services, Tenant, id_like
from api.http.bodies import json_body
from api.http.parsing import parse_body
from api.http.problems.problem import problem, upload_too_large
from api.http.times import moment
from rhapsode.contract.uploads import NewUpload, Upload, UploadOrder
from storage.ids import UPLOAD_ID, UploadId, new_upload_id
from storage.objects import keys
from storage.objects.uploads import LIFETIME_S, LINK_TTL_S

router = APIRouter(prefix="/v1/uploads", tags=["uploads"], route_class=IdempotentRoute)

KnownUploadId = Annotated[UploadId, id_like(UPLOAD_ID, "upload")]


@router.post("", status_code=201, response_model=NewUpload, openapi_extra=json_body(UploadOrder))
def post_upload(tenant: Tenant, services: Services, links: Links, body: JsonBytes, response: Response) -> NewUpload:
    """A place for one file: an id for later, and a link to PUT the file to."""
    order = parse_body(UploadOrder, body)
    if order.bytes > services.settings.max_upload_bytes:
        raise upload_too_large(services.settings.max_upload_bytes)
    upload = new_upload_id()
    link = services.artifacts.upload_url(keys.upload(tenant, upload), LINK_TTL_S, order.bytes)
    now_ms = round(time.time() * 1000)
    response.headers["Location"] = links.upload(upload)
    return NewUpload(
        id=upload,
        stored_bytes=None,
        expires_at=moment(now_ms + LIFETIME_S * 1000),
        url=links.absolute(link.url),
        headers=dict(link.headers),
        url_expires_at=moment(now_ms + LINK_TTL_S * 1000),
    )


@router.get("/{upload_id}", response_model=Upload)
def get_upload(tenant: Tenant, services: Services, upload_id: KnownUploadId) -> Upload:
    """A file that has arrived."""
    entry = services.artifacts.stat(keys.upload(tenant, upload_id))
    if entry is None:
        raise problem("not_found", f"no file has arrived as {upload_id}, or it was removed")
    expires = moment(round((entry.modified_at_s + LIFETIME_S) * 1000))
    return Upload(id=upload_id, stored_bytes=entry.bytes, expires_at=expires)


@router.delete("/{upload_id}", status_code=204)
def delete_upload(tenant: Tenant, services: Services, upload_id: KnownUploadId) -> None:
    """Remove the file; jobs that took it up have their own."""
    upload_key = keys.upload(tenant, upload_id)
    if services.artifacts.stat(upload_key) is None:
        raise problem("not_found", f"no file has arrived as {upload_id}, or it was removed")
    services.artifacts.delete(upload_key)
