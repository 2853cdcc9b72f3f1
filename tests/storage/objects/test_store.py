"""The contract of the object store, on a folder and on a real S3 server."""

from __future__ import annotations

import hashlib
import itertools
import time
from collections.abc import Iterator
from itertools import repeat

import httpx
import pytest

from storage.errors import ArtifactCorrupt, ArtifactExists, ArtifactMissing
from storage.objects.key_rules import KeyRefused
from storage.objects.s3_store import S3ArtifactStore
from storage.objects.store import ArtifactStore, Download
from tests.threads import BoundedExecutor

KEY = "jobs/local/job_01k/input.txt"
MIB = 1024 * 1024


def noise(num_bytes: int) -> bytes:
    return hashlib.shake_128(b"noise").digest(num_bytes)


def keys(store: ArtifactStore, prefix: str) -> list[str]:
    return [entry.key for entry in store.list(prefix)]


def test_what_is_put_is_got(artifact_store: ArtifactStore) -> None:
    stored = artifact_store.put(KEY, b"Hello.")

    assert artifact_store.get(KEY) == b"Hello."
    assert (stored.key, stored.bytes, stored.sha256) == (KEY, 6, hashlib.sha256(b"Hello.").hexdigest())


def test_what_nobody_reads_yet_is_put_as_any_object(artifact_store: ArtifactStore) -> None:
    stored = artifact_store.put_unread(KEY, b"Hello.")

    assert artifact_store.get(KEY) == b"Hello."
    assert (stored.key, stored.bytes, stored.sha256) == (KEY, 6, hashlib.sha256(b"Hello.").hexdigest())
    with pytest.raises(ArtifactExists):
        artifact_store.put_unread(KEY, b"other")
    with pytest.raises(ArtifactExists):
        artifact_store.put(KEY, b"other")


TOGETHER = [("jobs/local/job_01k/segments/0/1", b"PCM" * 1000), ("jobs/local/job_01k/a/1/n.wav", b"RIFF"), ("b", b"")]


def test_objects_that_are_put_together_are_all_there(artifact_store: ArtifactStore) -> None:
    artifact_store.put_together(TOGETHER)

    assert [(key, artifact_store.get(key)) for key, _ in TOGETHER] == TOGETHER


def test_what_an_earlier_try_put_together_is_found(artifact_store: ArtifactStore) -> None:
    artifact_store.put_together(TOGETHER[:2])

    artifact_store.put_together(TOGETHER)

    assert [(key, artifact_store.get(key)) for key, _ in TOGETHER] == TOGETHER
    longer = [(key, data + b"more") for key, data in TOGETHER]
    artifact_store.put("c", b"something that is longer")
    with pytest.raises(ArtifactExists):
        artifact_store.put_together([("c", b"shorter")])
    with pytest.raises(KeyRefused):
        artifact_store.put_together([*longer, ("../out", b"")])


def test_an_empty_object_is_an_object(artifact_store: ArtifactStore) -> None:
    artifact_store.put(KEY, b"")
    artifact_store.put_stream("other", iter(()))

    assert artifact_store.get(KEY) == b""
    assert artifact_store.get("other") == b""
    entry = artifact_store.stat(KEY)
    assert entry is not None
    assert entry.bytes == 0


def test_a_key_is_written_once(artifact_store: ArtifactStore) -> None:
    artifact_store.put(KEY, b"first")

    with pytest.raises(ArtifactExists):
        artifact_store.put(KEY, b"second")
    with pytest.raises(ArtifactExists):
        artifact_store.put_stream(KEY, [b"third"])
    with pytest.raises(ArtifactExists):
        artifact_store.put_stream(KEY, itertools.repeat(bytes(MIB), 9))

    assert artifact_store.get(KEY) == b"first"


def test_of_many_writers_of_one_key_one_wins(artifact_store: ArtifactStore) -> None:
    def write(writer: int) -> bool:
        try:
            artifact_store.put(KEY, b"%06d" % writer * 1000)
        except ArtifactExists:
            return False
        return True

    with BoundedExecutor(16) as threads:
        outcomes = list(threads.map(write, range(64)))

    assert sum(outcomes) == 1
    assert artifact_store.get(KEY) == b"%06d" % outcomes.index(True) * 1000


@pytest.mark.parametrize("num_bytes", [0, 1, MIB, 8 * MIB, 8 * MIB + 1, 20 * MIB + 7])
def test_a_stream_of_any_length_arrives_whole(artifact_store: ArtifactStore, num_bytes: int) -> None:
    data = noise(num_bytes)

    stored = artifact_store.put_stream(KEY, (data[at : at + 300_000] for at in range(0, num_bytes, 300_000)))

    assert stored.bytes == num_bytes
    assert stored.sha256 == hashlib.sha256(data).hexdigest()
    pieces = list(artifact_store.read_stream(KEY))
    assert b"".join(pieces) == data
    assert all(len(piece) <= MIB for piece in pieces)


@pytest.mark.parametrize("num_chunks", [1, 30])
def test_a_stream_that_breaks_leaves_nothing(artifact_store: ArtifactStore, num_chunks: int) -> None:
    def broken() -> Iterator[bytes]:
        yield from itertools.repeat(bytes(MIB), num_chunks)
        raise FileNotFoundError("the engine's own trouble")

    with pytest.raises(FileNotFoundError, match="the engine's own trouble"):
        artifact_store.put_stream(KEY, broken())

    assert artifact_store.stat(KEY) is None
    assert keys(artifact_store, "") == []
    assert artifact_store.sweep_temporary(older_than_s=-60) == 0


def test_a_missing_object_is_named(artifact_store: ArtifactStore) -> None:
    with pytest.raises(ArtifactMissing, match=KEY):
        artifact_store.get(KEY)
    with pytest.raises(ArtifactMissing, match=KEY):
        artifact_store.read_stream(KEY)
    assert artifact_store.stat(KEY) is None


def test_stat_tells_size_and_time(artifact_store: ArtifactStore) -> None:
    before_s = time.time()
    artifact_store.put(KEY, b"12345")

    entry = artifact_store.stat(KEY)

    assert entry is not None
    assert (entry.key, entry.bytes) == (KEY, 5)
    # An S3 server says whole seconds.
    assert before_s - 1 <= entry.modified_at_s <= time.time()


def test_a_listing_is_in_key_order_and_only_of_its_prefix(artifact_store: ArtifactStore) -> None:
    names = ["a/x", "a/x-1", "a/x.bin", "a/x0/deep/er", "a0", "b/segments/000001-7.bin", "b/segments/000010-2"]
    for name in reversed(names):
        artifact_store.put(name, name.encode())

    assert keys(artifact_store, "") == sorted(names)
    assert keys(artifact_store, "a/") == ["a/x", "a/x-1", "a/x.bin", "a/x0/deep/er"]
    assert keys(artifact_store, "a/x0") == ["a/x0/deep/er"]
    assert keys(artifact_store, "b/segments/000001") == ["b/segments/000001-7.bin"]
    assert keys(artifact_store, "c/") == []
    assert [entry.bytes for entry in artifact_store.list("a0")] == [2]


def test_a_long_listing_is_complete(artifact_store: ArtifactStore) -> None:
    names = [f"long/{index:05d}" for index in range(1_005)]
    with BoundedExecutor(16) as threads:
        list(threads.map(artifact_store.put, names, repeat(b"")))

    assert keys(artifact_store, "long/") == names
    assert artifact_store.delete_prefix("long/") == 1_005
    assert keys(artifact_store, "") == []


def test_a_deleted_object_is_gone_and_its_key_free_again(artifact_store: ArtifactStore) -> None:
    artifact_store.put(KEY, b"old")

    artifact_store.delete(KEY)
    artifact_store.delete(KEY)

    assert artifact_store.stat(KEY) is None
    artifact_store.put(KEY, b"new")
    assert artifact_store.get(KEY) == b"new"


def test_deleting_a_prefix_spares_the_neighbours(artifact_store: ArtifactStore) -> None:
    for name in ("jobs/t/j1/a", "jobs/t/j1/b/c", "jobs/t/j10/a", "jobs/t/j1-x"):
        artifact_store.put(name, b"x")

    assert artifact_store.delete_prefix("jobs/t/j1/") == 2
    assert artifact_store.delete_prefix("jobs/t/j1/") == 0

    assert keys(artifact_store, "") == ["jobs/t/j1-x", "jobs/t/j10/a"]


@pytest.mark.parametrize("prefix", ["", "jobs", "jobs/t/j1", "/", "../", "jobs/../"])
def test_only_a_folder_of_our_own_can_be_deleted(artifact_store: ArtifactStore, prefix: str) -> None:
    with pytest.raises(KeyRefused):
        artifact_store.delete_prefix(prefix)


@pytest.mark.parametrize(
    "key",
    [
        *("", "/", "/etc/passwd", "..", "../evil", "a/../../evil", "a//b", "a/", "./a", "a/.", "a/.hidden"),
        *("Upper", "a b", "a\\b", "ä", "a\n", "a\0", "%2e%2e/evil", "a" * 513),
    ],
)
def test_a_key_that_is_not_ours_is_refused_everywhere(artifact_store: ArtifactStore, key: str) -> None:
    calls = (
        lambda: artifact_store.put(key, b"x"),
        lambda: artifact_store.put_stream(key, [b"x"]),
        lambda: artifact_store.get(key),
        lambda: artifact_store.read_stream(key),
        lambda: artifact_store.stat(key),
        lambda: artifact_store.delete(key),
        lambda: artifact_store.url(key, 60, Download("a.wav", "audio/wav")),
    )
    for call in calls:
        with pytest.raises(KeyRefused):
            call()


@pytest.mark.parametrize("ttl_s", [0, -1, 7 * 24 * 3600 + 1])
def test_a_link_lives_for_a_week_at_most(artifact_store: ArtifactStore, ttl_s: int) -> None:
    with pytest.raises(ValueError, match="a link lives"):
        artifact_store.url(KEY, ttl_s, Download("a.wav", "audio/wav"))


def test_a_working_store_passes_its_check(artifact_store: ArtifactStore) -> None:
    artifact_store.check()

    assert keys(artifact_store, "") == []


def test_a_file_arrives_by_its_upload_link_with_its_length_and_once(s3_store: S3ArtifactStore) -> None:
    """A folder's links are served by the API: tests/api/uploads/test_routes.py."""
    link = s3_store.upload_url("uploads/local/upl_1", 60, 5)

    wrong = httpx.put(link.url, content=b"too long", headers={"If-None-Match": "*"})
    right = httpx.put(link.url, content=b"12345", headers=dict(link.headers))
    again = httpx.put(link.url, content=b"54321", headers=dict(link.headers))

    assert wrong.status_code == 403
    assert right.status_code == 200, right.text
    assert again.status_code == 412
    assert s3_store.get("uploads/local/upl_1") == b"12345"


@pytest.mark.parametrize(("offset", "num_bytes"), [(0, 1), (0, 3 * MIB), (1, MIB), (3 * MIB - 1, 1), (12_345, 678)])
def test_a_stretch_of_an_object_is_got_alone(artifact_store: ArtifactStore, offset: int, num_bytes: int) -> None:
    data = noise(3 * MIB)
    artifact_store.put(KEY, data)

    assert artifact_store.get_range(KEY, offset, num_bytes) == data[offset : offset + num_bytes]


@pytest.mark.parametrize(("offset", "num_bytes"), [(0, 101), (50, 51), (100, 1), (200, 10)])
def test_a_stretch_that_an_object_has_not_is_not_cut_short(
    artifact_store: ArtifactStore, offset: int, num_bytes: int
) -> None:
    artifact_store.put(KEY, noise(100))

    with pytest.raises(ArtifactCorrupt, match=KEY):
        artifact_store.get_range(KEY, offset, num_bytes)


def test_a_stretch_of_nothing_is_missing(artifact_store: ArtifactStore) -> None:
    with pytest.raises(ArtifactMissing, match=KEY):
        artifact_store.get_range(KEY, 0, 1)
