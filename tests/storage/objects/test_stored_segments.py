"""Segments are read from where they lie, on a folder and on a real S3 server, or it is said that they do not."""

from __future__ import annotations

import hashlib

import pytest

from storage.errors import ArtifactCorrupt, ArtifactMissing
from storage.ids import JobId, TenantId
from storage.objects import keys
from storage.objects.store import ArtifactStore
from storage.objects.stored_segments import find_segments, read_segment_file, segment_key
from storage.segments.packs import INDEX_BYTES, PackPlace, encode_pack
from storage.segments.results import SegmentResult

TENANT, JOB = TenantId("local"), JobId("job_01k")


def file_of(index: int, fence: int) -> bytes:
    return hashlib.shake_128(f"{index}-{fence}".encode()).digest(5_000 + index)


def put_alone(store: ArtifactStore, index: int, fence: int) -> SegmentResult:
    data = file_of(index, fence)
    store.put(keys.segment(TENANT, JOB, index, fence), data)
    return SegmentResult(index, fence, 1, hashlib.sha256(data).hexdigest())


def put_together(store: ArtifactStore, *leases: tuple[int, int]) -> list[SegmentResult]:
    pack = encode_pack([(index, fence, file_of(index, fence)) for index, fence in leases])
    store.put(keys.pack(TENANT, JOB, pack.name), pack.data)
    return [
        SegmentResult(each.index, each.fence, 1, each.sha256, place=PackPlace(pack.name, each.offset, each.num_bytes))
        for each in pack.segments
    ]


def cut_to(store: ArtifactStore, key: str, num_bytes: int) -> None:
    data = store.get(key)
    store.delete(key)
    store.put(key, data[:num_bytes])


def test_segments_are_read_from_their_pack_and_from_objects_of_their_own(artifact_store: ArtifactStore) -> None:
    results = [*put_together(artifact_store, (3, 7), (1, 9), (2, 8)), put_alone(artifact_store, 0, 4)]

    for each in results:
        assert read_segment_file(artifact_store, TENANT, JOB, each) == file_of(each.index, each.fence)
    assert len({segment_key(TENANT, JOB, each) for each in results}) == 2


def test_half_a_pack_has_the_segments_of_that_half(artifact_store: ArtifactStore) -> None:
    first, second, third = put_together(artifact_store, (1, 7), (2, 8), (3, 9))
    cut_to(artifact_store, segment_key(TENANT, JOB, first), INDEX_BYTES + 5_000 + 2_000)

    assert read_segment_file(artifact_store, TENANT, JOB, first) == file_of(1, 7)
    for cut in (second, third):
        with pytest.raises(ArtifactCorrupt):
            read_segment_file(artifact_store, TENANT, JOB, cut)


def test_what_was_changed_in_a_pack_is_noticed_and_its_neighbour_is_not_blamed(artifact_store: ArtifactStore) -> None:
    first, second = put_together(artifact_store, (1, 7), (2, 8))
    key = segment_key(TENANT, JOB, first)
    data = bytearray(artifact_store.get(key))
    data[-1] ^= 1
    artifact_store.delete(key)
    artifact_store.put(key, bytes(data))

    assert read_segment_file(artifact_store, TENANT, JOB, first) == file_of(1, 7)
    with pytest.raises(ArtifactCorrupt, match="sha256"):
        read_segment_file(artifact_store, TENANT, JOB, second)
    (found,) = find_segments(artifact_store, TENANT, JOB, 2)
    with pytest.raises(ArtifactCorrupt, match="sha256"):
        found.read(artifact_store)


def test_a_pack_that_was_deleted_is_missing(artifact_store: ArtifactStore) -> None:
    first, _ = put_together(artifact_store, (1, 7), (2, 8))
    artifact_store.delete(segment_key(TENANT, JOB, first))

    with pytest.raises(ArtifactMissing):
        read_segment_file(artifact_store, TENANT, JOB, first)
    assert find_segments(artifact_store, TENANT, JOB, 1) == []


def test_every_file_of_a_segment_is_found_without_a_record_the_newest_first(artifact_store: ArtifactStore) -> None:
    put_together(artifact_store, (1, 7), (5, 8))
    put_together(artifact_store, (3, 20), (4, 21))
    put_alone(artifact_store, 3, 12)
    put_together(artifact_store, (2, 30), (3, 31))
    put_alone(artifact_store, 31, 40)

    found = find_segments(artifact_store, TENANT, JOB, 3)

    assert [each.fence for each in found] == [31, 20, 12]
    assert [each.read(artifact_store) for each in found] == [file_of(3, fence) for fence in (31, 20, 12)]


def test_a_pack_without_a_whole_index_hides_no_other(artifact_store: ArtifactStore) -> None:
    first, _ = put_together(artifact_store, (1, 7), (2, 8))
    put_alone(artifact_store, 1, 3)
    cut_to(artifact_store, segment_key(TENANT, JOB, first), 100)

    assert [each.fence for each in find_segments(artifact_store, TENANT, JOB, 1)] == [3]
