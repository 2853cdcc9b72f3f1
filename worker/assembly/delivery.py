"""The story of a delivery: every finished file goes to the caller's bucket, and a list of them at the end.

An item of its own behind the assembly, so it outlives its worker, is tried again for a day, and ends with its job. What
lies in the bucket already is not sent again.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Iterator, Sequence
from mimetypes import types_map

from rhapsode.contract.jobs.bucket import Bucket
from storage.errors import ArtifactMissing
from storage.ids import JobId
from storage.jobs.chapter_files import CHAPTERS, as_artifact, decode_chapter_files
from storage.jobs.delivery_marker import MARKER_NAME, complete_marker
from storage.jobs.record import ArtifactRecord, JobRecord
from storage.jobs.tickets import Tickets
from storage.jobs.work_items import ClaimedItem
from storage.narration.audio_formats import FORMATS
from storage.objects.callers_bucket import (
    BucketFile,
    BucketRefused,
    BucketUnavailable,
    CallersBucket,
    bucket_owner,
)
from storage.objects.store import ArtifactStore
from storage.webhooks.sealed_secrets import SecretUnreadable
from worker.bucket_access import BUSY_S, AllPlacesTaken, BucketAccess
from worker.errors import NotYet, PermanentItemError, unusable
from worker.items.leases.keeper import HeldLease
from worker.items.leases.persistence import until_available
from worker.services import WorkerServices

logger = logging.getLogger(__name__)

GIVEN_UP_S = 24 * 3600.0
SHORTEST_PAUSE_S, LONGEST_PAUSE_S = 5.0, 900.0

_CONTENT_TYPES = types_map | {f".{form}": facts.content_type for form, facts in FORMATS.items()}


def run_delivery(item: ClaimedItem, held: HeldLease, services: WorkerServices) -> Tickets:
    """Send what is not there yet, and finish the job; returns the tickets to send.

    Raises `NotYet` while the bucket cannot be reached, `PermanentItemError` once it never will.
    """
    lease = item.lease
    record = until_available(lambda: services.jobs.get(lease.tenant, lease.job), held)
    try:
        with services.buckets.place():
            files = _files(record, services.artifacts, held)
            bucket = _bucket(item, services.buckets, files)
            _deliver(files, bucket, services.artifacts, held)
            _put_marker(lease.job, files, bucket)
    except AllPlacesTaken:
        raise NotYet(BUSY_S) from None
    except BucketRefused as error:
        raise unusable("bucket_unusable", f"the files were not taken: {error}") from error
    except BucketUnavailable as error:
        raise _later(record, error, services.artifacts) from error
    tickets = until_available(lambda: services.jobs.finish_delivery(lease), held)
    logger.info("files delivered", extra={"files": len(files)})
    return tickets


def _files(record: JobRecord, artifacts: ArtifactStore, held: HeldLease) -> list[ArtifactRecord]:
    """All of the job's, those of chapters among them."""
    found: list[ArtifactRecord] = []
    for artifact in record.artifacts:
        found.append(artifact)
        if artifact.type == CHAPTERS:
            data = until_available(lambda key=artifact.key: artifacts.get(key), held)
            found += [as_artifact(file, artifact) for file in decode_chapter_files(data)]
    return found


def _bucket(item: ClaimedItem, access: BucketAccess, files: Sequence[ArtifactRecord]) -> CallersBucket:
    spec, lease = item.narration, item.lease
    wanted: Bucket | None = spec.request.output.bucket
    if wanted is None:
        raise RuntimeError("a delivery was claimed of a job that names no bucket")
    try:
        keys = access.keys(spec.bucket_secret, bucket_owner(lease.tenant, lease.job))
    except SecretUnreadable as error:
        raise unusable("bucket_unusable", "its credentials cannot be opened any more; submit the job again") from error
    return CallersBucket(wanted, keys, access.http(max(file.bytes for file in files)))


def _deliver(files: Sequence[ArtifactRecord], bucket: CallersBucket, artifacts: ArtifactStore, held: HeldLease) -> None:
    for file in files:
        held.check()
        described = BucketFile(file.name, file.bytes, file.sha256, _content_type(file.name))
        if not bucket.has(described):
            bucket.put(described, _pieces(file, artifacts, held))


def _put_marker(job: JobId, files: Sequence[ArtifactRecord], bucket: CallersBucket) -> None:
    marker = complete_marker(job, files)
    bucket.put(BucketFile(MARKER_NAME, len(marker), hashlib.sha256(marker).hexdigest(), "application/json"), [marker])


def _pieces(file: ArtifactRecord, artifacts: ArtifactStore, held: HeldLease) -> Iterator[bytes]:
    """As long as anybody wants them."""
    try:
        for piece in artifacts.read_stream(file.key):
            held.check()
            yield piece
    except ArtifactMissing as error:
        raise unusable("internal", f"{file.name} is not in the store any more") from error


def _later(record: JobRecord, error: BucketUnavailable, artifacts: ArtifactStore) -> NotYet | PermanentItemError:
    """The longer the files have been there, the longer is the pause."""
    made = [entry.modified_at_s for each in record.artifacts if (entry := artifacts.stat(each.key))]
    waited_s = max(0.0, time.time() - max(made, default=0.0))
    if waited_s >= GIVEN_UP_S:
        return unusable("bucket_unusable", f"the files could not be sent for a day: {error}")
    logger.warning("delivery put off", extra={"error": str(error)})
    return NotYet(min(max(waited_s / 2, SHORTEST_PAUSE_S), LONGEST_PAUSE_S))


def _content_type(name: str) -> str:
    _, dot, suffix = name.rpartition(".")
    return _CONTENT_TYPES.get(f"{dot}{suffix}", "application/octet-stream")
