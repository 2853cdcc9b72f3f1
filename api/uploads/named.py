"""Uploads that a request names: their size, their bytes, or the upload itself."""

from __future__ import annotations

from collections.abc import Iterator

from api.http.problems.problem import invalid_field, upload_too_large
from api.services.container import ApiServices
from storage.errors import ArtifactMissing
from storage.ids import UPLOAD_ID, TenantId, UploadId
from storage.objects import keys
from storage.objects.uploads import TakenUpload, take_upload


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
