"""Uploads: files too large for a request, or needed by several, on their way into the store past the API."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Annotated

from fastapi import APIRouter, Depends, Response

from api.dependencies import JsonBytes, Links, Services, Tenant
from api.idempotent_route import IdempotentRoute
from api.job_view import moment
from api.problems import invalid_field, not_found, upload_too_large
from api.request_parsing import parse_body
from api.services import ApiServices
from api.upload_schemas import NewUpload, Upload, UploadOrder
from storage import keys
from storage.errors import ArtifactMissing
from storage.jobs import TenantId
from storage.uploads import LIFETIME_S, LINK_TTL_S, TakenUpload, UploadId, new_upload_id, take_upload

router = APIRouter(prefix="/v1/uploads", tags=["uploads"], route_class=IdempotentRoute)

UPLOAD_ID = re.compile(r"upl_[0-9a-hjkmnp-tv-z]{26}")

_ORDER = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/UploadOrder"}}},
    }
}


async def _upload_id(upload_id: str) -> UploadId:
    if not UPLOAD_ID.fullmatch(upload_id):
        raise not_found(f"there is no upload {upload_id[:64]!r}")
    return UploadId(upload_id)


KnownUploadId = Annotated[UploadId, Depends(_upload_id)]


@router.post("", status_code=201, response_model=NewUpload, openapi_extra=_ORDER)
def post_upload(tenant: Tenant, services: Services, links: Links, body: JsonBytes, response: Response) -> NewUpload:
    """A place for one file: an id for later, and a link to PUT the file to.

    Its bytes count against the tenant's from now on, until it is deleted or over; those of a link that nothing came by,
    for up to three hours.
    """
    order = parse_body(UploadOrder, body)
    if order.bytes > services.settings.max_upload_bytes:
        raise upload_too_large(services.settings.max_upload_bytes)
    upload = new_upload_id()
    services.uploads.order(tenant, upload, order.bytes)
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
        raise not_found(f"no file has arrived as {upload_id}, or it was removed")
    expires = moment(round((entry.modified_at_s + LIFETIME_S) * 1000))
    return Upload(id=upload_id, stored_bytes=entry.bytes, expires_at=expires)


@router.delete("/{upload_id}", status_code=204)
def delete_upload(tenant: Tenant, services: Services, upload_id: KnownUploadId) -> None:
    """Remove the file; jobs that took it up have their own."""
    upload_key = keys.upload(tenant, upload_id)
    if services.artifacts.stat(upload_key) is None:
        raise not_found(f"no file has arrived as {upload_id}, or it was removed")
    services.artifacts.delete(upload_key)
    services.uploads.settle(tenant, upload_id, 0)


def take_named_upload(
    services: ApiServices, tenant: TenantId, upload_id: str, pointer: str, job_key: str
) -> TakenUpload:
    """Copy the upload that a request names at `pointer` to a key of the job's. Raises a `Problem`."""
    upload_key = _existing(services, tenant, upload_id, pointer, services.settings.max_upload_bytes)
    try:
        return take_upload(services.artifacts, upload_key, job_key)
    except ArtifactMissing:
        raise _absent(upload_id, pointer) from None


def read_named_upload(services: ApiServices, tenant: TenantId, upload_id: str, pointer: str, max_bytes: int) -> bytes:
    """The whole upload that a request names at `pointer`. Raises a `Problem`."""
    upload_key = _existing(services, tenant, upload_id, pointer, max_bytes)
    try:
        return services.artifacts.get(upload_key)
    except ArtifactMissing:
        raise _absent(upload_id, pointer) from None


def named_upload_bytes(services: ApiServices, tenant: TenantId, upload_id: str, pointer: str, max_bytes: int) -> int:
    """How large the upload is that a request names at `pointer`. Raises a `Problem`."""
    entry = services.artifacts.stat(_existing(services, tenant, upload_id, pointer, max_bytes))
    if entry is None:
        raise _absent(upload_id, pointer)
    return entry.bytes


def upload_pieces(services: ApiServices, tenant: TenantId, upload_id: str, pointer: str) -> Iterator[bytes]:
    """The upload that a request names at `pointer`, piece by piece. Raises a `Problem`."""
    upload_key = _existing(services, tenant, upload_id, pointer, services.settings.max_upload_bytes)
    try:
        return services.artifacts.read_stream(upload_key)
    except ArtifactMissing:
        raise _absent(upload_id, pointer) from None


def _existing(services: ApiServices, tenant: TenantId, upload_id: str, pointer: str, max_bytes: int) -> str:
    """Where the upload lies. Raises the `Problem` that it does not, or that it is larger than this."""
    if not UPLOAD_ID.fullmatch(upload_id):
        raise invalid_field(pointer, "not_found", f"there is no upload {upload_id[:64]!r}; ids begin with upl_")
    upload_key = keys.upload(tenant, UploadId(upload_id))
    entry = services.artifacts.stat(upload_key)
    if entry is None:
        raise _absent(upload_id, pointer)
    if entry.bytes > max_bytes:
        raise upload_too_large(max_bytes)
    return upload_key


def _absent(upload_id: str, pointer: str) -> Exception:
    return invalid_field(pointer, "not_found", f"no file has arrived as {upload_id}, or it was removed")
