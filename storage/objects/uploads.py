"""Files that callers store for a later job. The object is the only state of an upload.

An id is given out with a link to PUT to; once the object is there, it may be named in a job, which copies it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from storage.objects import keys
from storage.objects.store import ArtifactStore, ObjectEntry, StoredObject

LINK_TTL_S = 3600
LIFETIME_S = 24 * 3600
"""An upload that no job took up in that time is removed."""


@dataclass(frozen=True, slots=True)
class TakenUpload:
    """The job's own copy, which its uploader cannot change any more."""

    stored: StoredObject
    head: bytes
    """Its first bytes, which tell what it is."""


HEAD_BYTES = 512


def take_upload(artifacts: ArtifactStore, upload_key: str, job_key: str) -> TakenUpload:
    """Copy an upload to where a job keeps its input, in bounded memory. Raises `ArtifactMissing`, `ArtifactExists`."""
    head = bytearray()

    def pieces() -> Iterator[bytes]:
        for piece in artifacts.read_stream(upload_key):
            head.extend(piece[: max(0, HEAD_BYTES - len(head))])
            yield piece

    return TakenUpload(artifacts.put_stream(job_key, pieces()), bytes(head))


def remove_old_uploads(artifacts: ArtifactStore) -> int:
    """Those whose time is over: jobs that took them have copies. Returns how many."""
    old = [entry.key for entry in artifacts.list(keys.UPLOADS) if is_over(entry, time.time())]
    for key in old:
        artifacts.delete(key)
    return len(old)


def is_over(entry: ObjectEntry, now_s: float) -> bool:
    return now_s - entry.modified_at_s > LIFETIME_S
