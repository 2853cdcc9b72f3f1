"""The picture that a caller uploads for the files: looked at when it is named, and copied to the job."""

from __future__ import annotations

from contextlib import suppress

from api.http.problems.problem import invalid_field
from api.services.container import ApiServices
from api.uploads.named import read_named_upload
from storage.audio.cover import MAX_COVER_BYTES, CoverUnusable, read_cover
from storage.errors import ArtifactExists
from storage.ids import JobId, TenantId, UploadId
from storage.objects import keys

COVER_POINTER = "/output/cover"


def copy_cover(services: ApiServices, tenant: TenantId, job: JobId, upload_id: str) -> None:
    """Unless the job has it already. Raises a `Problem` for what is no such picture."""
    data = read_named_upload(services, tenant, upload_id, COVER_POINTER, MAX_COVER_BYTES)
    try:
        read_cover(data)
    except CoverUnusable as error:
        raise invalid_field(COVER_POINTER, "unsupported_media", f"the cover cannot be used: {error}") from None
    with suppress(ArtifactExists):
        services.artifacts.put(keys.cover(tenant, job, UploadId(upload_id)), data)
