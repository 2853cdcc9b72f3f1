"""Where a job's finished segments and their files are: separate objects, or stretches of packs."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator
from dataclasses import dataclass

from storage.errors import ArtifactCorrupt, ArtifactMissing
from storage.ids import JobId, TenantId
from storage.objects import keys
from storage.objects.store import ArtifactStore
from storage.segments.file import ITEM_BYTES, LENGTH_BYTES, SegmentHeader, decode_header, table_bytes
from storage.segments.packs import INDEX_BYTES, PackFormatError, PackPlace, decode_index
from storage.segments.results import SegmentResult

logger = logging.getLogger(__name__)

USUAL_HEADER_BYTES = 4096
"""Read at once: what is longer takes another look."""


def segment_key(tenant: TenantId, job: JobId, result: SegmentResult) -> str:
    """Of the object that the segment lies in."""
    if result.place is None:
        return keys.segment(tenant, job, result.index, result.fence)
    return keys.pack(tenant, job, result.place.pack)


def read_segment_file(artifacts: ArtifactStore, tenant: TenantId, job: JobId, result: SegmentResult) -> bytes:
    """The segment's file as it was committed, byte for byte.

    Raises `ArtifactMissing`, `StoreUnavailable`, and `ArtifactCorrupt` for what is not as it was recorded.
    """
    return read_verified(artifacts, segment_key(tenant, job, result), result.sha256, result.place)


def read_verified(artifacts: ArtifactStore, key: str, sha256: str, place: PackPlace | None = None) -> bytes:
    """An object, or the stretch of one at `place`, with this digest. Raises as `read_segment_file` does."""
    data = _stretch(artifacts, key, place)
    if hashlib.sha256(data).hexdigest() != sha256:
        raise ArtifactCorrupt(f"{key}: the sha256 is not the recorded one")
    return data


def read_segment_header(artifacts: ArtifactStore, tenant: TenantId, job: JobId, result: SegmentResult) -> SegmentHeader:
    """What the segment's file says of itself, without its samples, and so without its digest being checked.

    Raises `ArtifactMissing`, `ArtifactCorrupt`, `StoreUnavailable` and `SegmentFormatError`.
    """
    key, start = segment_key(tenant, job, result), result.place.offset if result.place else 0
    # A file is never shorter than its samples.
    least_bytes = max(LENGTH_BYTES, ITEM_BYTES * result.num_samples)
    beginning = artifacts.get_range(key, start, min(USUAL_HEADER_BYTES, least_bytes))
    length = table_bytes(beginning)
    table = beginning[LENGTH_BYTES : LENGTH_BYTES + length]
    if len(table) < length:
        table = artifacts.get_range(key, start + LENGTH_BYTES, length)
    return decode_header(table)


@dataclass(frozen=True, slots=True)
class FoundSegment:
    """A file of a segment that was found without its job's record. sha256: if that was written down beside it."""

    fence: int
    key: str
    place: PackPlace | None = None
    sha256: str = ""

    def read(self, artifacts: ArtifactStore) -> bytes:
        """Raises as `read_segment_file` does."""
        if not self.sha256:
            return _stretch(artifacts, self.key, self.place)
        return read_verified(artifacts, self.key, self.sha256, self.place)


def find_segments(artifacts: ArtifactStore, tenant: TenantId, job: JobId, index: int) -> list[FoundSegment]:
    """Every file of one segment that lies in the store, the newest first. Raises `StoreUnavailable`."""
    found = (*_own_objects(artifacts, tenant, job, index), *_in_packs(artifacts, tenant, job, index))
    return sorted(found, key=lambda each: each.fence, reverse=True)


def _own_objects(artifacts: ArtifactStore, tenant: TenantId, job: JobId, index: int) -> Iterator[FoundSegment]:
    # The listing goes by folders: what begins alike is picked out here.
    folder = keys.segments_prefix(tenant, job)
    for entry in artifacts.list(folder):
        if entry.key.startswith(f"{folder}{index:06d}-"):
            yield FoundSegment(keys.segment_fence(entry.key), entry.key)


def _in_packs(artifacts: ArtifactStore, tenant: TenantId, job: JobId, index: int) -> Iterator[FoundSegment]:
    for entry in artifacts.list(keys.packs_prefix(tenant, job)):
        name = keys.pack_name(entry.key)
        if not name.first <= index <= name.last:
            continue
        try:
            packed = decode_index(artifacts.get_range(entry.key, 0, INDEX_BYTES))
        except (ArtifactMissing, ArtifactCorrupt, PackFormatError) as error:
            logger.warning("a pack of segments cannot be read", extra={"key": entry.key, "error": str(error)})
            continue
        for each in packed:
            if each.index == index:
                place = PackPlace(name, each.offset, each.num_bytes)
                yield FoundSegment(each.fence, entry.key, place, each.sha256)


def _stretch(artifacts: ArtifactStore, key: str, place: PackPlace | None) -> bytes:
    return artifacts.get(key) if place is None else artifacts.get_range(key, place.offset, place.num_bytes)
