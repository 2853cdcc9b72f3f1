"""Uploads that a request names: their size and bytes."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager

from api.http.problems.problem import HttpProblem, invalid_field, upload_too_large
from storage.errors import ArtifactMissing
from storage.ids import UPLOAD_ID, TenantId, UploadId
from storage.objects import keys
from storage.objects.store import ArtifactStore, ObjectEntry
from storage.objects.uploads import TakenUpload, take_upload


def find_named_upload(
    artifacts: ArtifactStore, tenant: TenantId, upload_id: str, pointer: str, max_bytes: int
) -> ObjectEntry:
    """The upload that a request names at `pointer`. Raises an `HttpProblem` if it is missing or too large."""
    if not UPLOAD_ID.fullmatch(upload_id):
        raise invalid_field(pointer, "not_found", f"there is no upload {upload_id[:64]!r}; ids begin with upl_")
    entry = artifacts.stat(keys.upload(tenant, UploadId(upload_id)))
    if entry is None:
        raise _absent(upload_id, pointer)
    if entry.bytes > max_bytes:
        raise upload_too_large(max_bytes)
    return entry


def take_named_upload(
    artifacts: ArtifactStore, tenant: TenantId, upload_id: str, pointer: str, max_bytes: int, job_key: str
) -> TakenUpload:
    """Copy the upload to a key of the job's. Raises a `Problem`."""
    upload = find_named_upload(artifacts, tenant, upload_id, pointer, max_bytes)
    with _present(upload_id, pointer):
        return take_upload(artifacts, upload.key, job_key)


def read_named_upload(
    artifacts: ArtifactStore, tenant: TenantId, upload_id: str, pointer: str, max_bytes: int
) -> bytes:
    """The whole upload. Raises a `Problem`."""
    upload = find_named_upload(artifacts, tenant, upload_id, pointer, max_bytes)
    with _present(upload_id, pointer):
        return artifacts.get(upload.key)


def upload_pieces(
    artifacts: ArtifactStore, tenant: TenantId, upload_id: str, pointer: str, max_bytes: int
) -> Iterator[bytes]:
    """The upload, piece by piece. Raises a `Problem`."""
    upload = find_named_upload(artifacts, tenant, upload_id, pointer, max_bytes)
    with _present(upload_id, pointer):
        return artifacts.read_stream(upload.key)


@contextmanager
def _present(upload_id: str, pointer: str) -> Generator[None]:
    try:
        yield
    except ArtifactMissing:
        raise _absent(upload_id, pointer) from None


def _absent(upload_id: str, pointer: str) -> HttpProblem:
    return invalid_field(pointer, "not_found", f"no file has arrived as {upload_id}, or it was removed")
