from __future__ import annotations

import errno
import itertools
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest

from storage.errors import ArtifactCorrupt, ArtifactExists, ArtifactMissing, StoreFull, StoreUnavailable
from storage.objects import local_store as local_store_module
from storage.objects.local_store import LinkRefused, LocalArtifactStore
from storage.objects.store import Download
from tests.threads import BoundedExecutor

SECRET = b"a-secret-for-tests-only"
KEY = "jobs/local/job_01k/artifacts/3/narration.wav"
DOWNLOAD = Download("Die Geschichte.wav", "audio/wav")

ENDLESS_WRITER = """
import itertools, sys
from pathlib import Path
from storage.objects.local_store import LocalArtifactStore
store = LocalArtifactStore(Path(sys.argv[1]), b"a-secret-for-tests-only", min_free_bytes=0)
def chunks():
    for number in itertools.count():
        yield bytes(100_000)
        if number == 20:
            print("writing", flush=True)
            sys.stdin.read()
store.put_stream(sys.argv[2], chunks())
"""


UNREAD_WRITER = """
import itertools, sys
from pathlib import Path
from storage.objects.local_store import LocalArtifactStore
store = LocalArtifactStore(Path(sys.argv[1]), b"a-secret-for-tests-only", min_free_bytes=0)
for number in itertools.count():
    key = f"jobs/local/job_{number}/input.txt"
    store.put_unread(key, key.encode() * 100)
    print(key, flush=True)
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "store"


def test_kill_9_while_writing_leaves_no_object_and_a_draft_for_the_sweep(
    local_store: LocalArtifactStore, root: Path
) -> None:
    writer = subprocess.Popen(
        [sys.executable, "-c", ENDLESS_WRITER, str(root), KEY], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        os.kill(writer.pid, signal.SIGKILL)

    assert local_store.stat(KEY) is None
    assert list(local_store.list("")) == []
    assert len(os.listdir(root / "tmp")) == 1
    assert local_store.sweep_temporary(older_than_s=3600) == 0
    assert local_store.sweep_temporary(older_than_s=-1) == 1
    assert local_store.put(KEY, b"again").bytes == 5


def test_kill_9_leaves_whole_what_was_put_before_anybody_read_it(local_store: LocalArtifactStore, root: Path) -> None:
    writer = subprocess.Popen([sys.executable, "-c", UNREAD_WRITER, str(root)], stdout=subprocess.PIPE, text=True)
    with writer:
        assert writer.stdout is not None
        told = [writer.stdout.readline() for _ in range(20)]
        os.kill(writer.pid, signal.SIGKILL)
        told += writer.stdout.readlines()

    # The last line may itself be cut off.
    keys = [line.strip() for line in told if line.endswith("\n")]
    assert len(keys) >= 20
    assert all(local_store.get(key) == key.encode() * 100 for key in keys)
    # What was being written is no job's: its folder goes as any folder of a job that is not known.
    assert len(list(local_store.list(""))) - len(keys) in (0, 1, 2)
    assert os.listdir(root / "tmp") == []


def test_what_nobody_reads_yet_costs_one_sync_that_finds_its_name_there(
    local_store: LocalArtifactStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[bytes] = []
    sync = os.fsync

    def counted(descriptor: int) -> None:
        synced.append((root / "objects" / KEY).read_bytes())
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", counted)
    local_store.put_unread(KEY, b"RIFF")

    assert synced == [b"RIFF"]


def test_what_cannot_be_synced_is_not_there(local_store: LocalArtifactStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(descriptor: int) -> None:
        raise OSError(errno.EIO, "no such luck")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", broken)
        with pytest.raises(StoreUnavailable, match="no such luck"):
            local_store.put_unread(KEY, b"RIFF")

    assert local_store.stat(KEY) is None
    assert local_store.put_unread(KEY, b"RIFF").bytes == 4


FOLDER = "jobs/local/job_01k/artifacts/1"
TOGETHER = [(f"{FOLDER}/narration.wav", b"RIFF"), (f"{FOLDER}/codes", b"0123456789"), ("jobs/local/job_01k/s/1", b"S")]


def test_objects_that_are_put_together_are_synced_when_all_are_written(
    local_store: LocalArtifactStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[bytes]] = []
    sync = os.fsync

    def counted(descriptor: int) -> None:
        seen.append([(root / "objects" / key).read_bytes() for key, _ in TOGETHER])
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", counted)
    local_store.put_together(TOGETHER)

    assert seen == [[data for _, data in TOGETHER]] * len(TOGETHER)
    assert os.listdir(root / "tmp") == []


def test_what_a_killed_writer_left_half_of_is_written_anew(local_store: LocalArtifactStore, root: Path) -> None:
    half, key = root / "objects" / FOLDER / "codes", f"{FOLDER}/codes"
    half.parent.mkdir(parents=True)
    half.write_bytes(b"01234")

    local_store.put_together(TOGETHER)

    assert local_store.get(key) == b"0123456789"


def test_of_objects_that_cannot_be_synced_together_none_is_there(
    local_store: LocalArtifactStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync, left = os.fsync, [1]

    def broken(descriptor: int) -> None:
        if not left:
            raise OSError(errno.EIO, "no such luck")
        left.pop()
        sync(descriptor)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", broken)
        with pytest.raises(StoreUnavailable, match="no such luck"):
            local_store.put_together(TOGETHER)

    assert [local_store.stat(key) for key, _ in TOGETHER] == [None] * len(TOGETHER)
    local_store.put_together(TOGETHER)
    assert local_store.get(TOGETHER[2][0]) == b"S"


def test_no_link_and_no_folder_is_taken_for_what_an_earlier_try_left(
    local_store: LocalArtifactStore, root: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"secret")
    (root / "objects" / "a" / "folder").mkdir(parents=True)
    (root / "objects" / "a" / "link").symlink_to(outside)

    with pytest.raises(StoreUnavailable):
        local_store.put_together([("a/link", b"secret")])
    with pytest.raises(ArtifactExists):
        local_store.put_together([("a/folder", b"x" * 100_000)])

    assert outside.read_bytes() == b"secret"


def test_what_is_stored_is_for_its_owner_only(local_store: LocalArtifactStore, root: Path) -> None:
    local_store.put(KEY, b"x")
    local_store.put_unread(f"{KEY}.txt", b"x")
    local_store.put_together(TOGETHER)

    paths = [root, *root.rglob("*")]
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths if path.is_file()} == {0o600}
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths if path.is_dir() and path != root} == {0o700}


def test_drafts_do_not_stay(local_store: LocalArtifactStore, root: Path) -> None:
    local_store.put(KEY, b"x")
    with pytest.raises(ArtifactExists):
        local_store.put(KEY, b"y")

    assert os.listdir(root / "tmp") == []


def test_links_in_the_folder_lead_nowhere(local_store: LocalArtifactStore, root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    (root / "objects" / "folder").symlink_to(outside)
    (root / "objects" / "file").symlink_to(outside / "secret")
    (root / "objects" / "dangling").symlink_to(outside / "new")

    with pytest.raises(ArtifactMissing):
        local_store.get("folder/secret")
    with pytest.raises(ArtifactCorrupt):
        local_store.get("file")
    for key in ("folder/new", "file", "dangling"):
        with pytest.raises(ArtifactExists):
            local_store.put(key, b"x")
    assert list(local_store.list("")) == []
    local_store.delete("folder/secret")
    local_store.delete_prefix("folder/")

    assert os.listdir(outside) == ["secret"]
    assert (outside / "secret").read_text() == "secret"


def test_an_object_cannot_become_a_folder_nor_a_folder_an_object(local_store: LocalArtifactStore) -> None:
    local_store.put("a", b"x")
    local_store.put("b/c", b"x")

    with pytest.raises(ArtifactExists):
        local_store.put("a/b", b"x")
    with pytest.raises(ArtifactExists):
        local_store.put("b", b"x")
    assert local_store.stat("a/b") is None
    assert local_store.stat("b") is None


def test_a_pipe_in_the_folder_does_not_hang_a_reader(local_store: LocalArtifactStore, root: Path) -> None:
    os.mkfifo(root / "objects" / "pipe")

    assert local_store.stat("pipe") is None


def test_names_are_in_order_even_where_one_folder_begins_like_another(local_store: LocalArtifactStore) -> None:
    names = ["a-b/x", "a.b", "a/x", "a0"]
    for name in names:
        local_store.put(name, b"")

    assert [entry.key for entry in local_store.list("")] == names == sorted(names)


def test_deleting_removes_the_folders_that_became_empty(local_store: LocalArtifactStore, root: Path) -> None:
    for key in ("jobs/t/j/a/b/c", "jobs/t/j/d", "jobs/u/x"):
        local_store.put(key, b"")

    local_store.delete_prefix("jobs/t/j/")
    assert sorted(os.listdir(root / "objects" / "jobs")) == ["u"]

    local_store.delete("jobs/u/x")
    assert os.listdir(root / "objects") == []


def test_a_folder_pruned_under_a_writer_costs_neither_its_object(local_store: LocalArtifactStore) -> None:
    """Writers and pruners of one folder at once: whatever a put returned for is there until it is deleted."""
    over = threading.Event()

    def prune() -> None:
        while not over.is_set():
            local_store.delete_prefix("jobs/t/gone/")
            local_store.delete("jobs/t/gone/deep/er/0")

    def write(number: int) -> None:
        local_store.put(f"jobs/t/gone/deep/er/{number}", b"")
        local_store.put(f"jobs/t/kept/{number}", b"kept")
        local_store.delete(f"jobs/t/kept/{number}")
        local_store.put(f"jobs/t/kept/{number}", b"kept")

    with BoundedExecutor(6) as threads:
        pruners = [threads.submit(prune) for _ in range(2)]
        try:
            list(threads.map(write, range(200)))
        finally:
            over.set()
        for pruner in pruners:
            pruner.result()

    assert len(list(local_store.list("jobs/t/kept/"))) == 200


def test_writing_stops_before_the_file_system_is_full(root: Path) -> None:
    status = os.statvfs(root.parent)
    free = status.f_bavail * status.f_frsize
    LocalArtifactStore(root, SECRET).put("already-there", b"x")
    store = LocalArtifactStore(root, SECRET, min_free_bytes=free * 2)

    with pytest.raises(StoreFull, match="must stay free"):
        store.put(KEY, b"x")
    with pytest.raises(StoreFull, match="must stay free"):
        store.check()

    assert store.get("already-there") == b"x"
    assert os.listdir(root / "tmp") == []


def test_a_store_without_room_for_work_is_full_before_it_refuses_small_objects(
    local_store: LocalArtifactStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_store_module, "ROOM_FOR_WORK", 2**60)

    local_store.put(KEY, b"x")
    with pytest.raises(StoreFull, match="must stay free"):
        local_store.check()


def test_a_long_stream_stops_when_space_runs_low_and_leaves_nothing(root: Path) -> None:
    status = os.statvfs(root.parent)
    free = status.f_bavail * status.f_frsize
    store = LocalArtifactStore(root, SECRET, min_free_bytes=free - 32 * 1024 * 1024)

    with pytest.raises(StoreFull, match="must stay free"):
        store.put_stream(KEY, itertools.repeat(bytes(1024 * 1024), 512))

    assert store.stat(KEY) is None
    assert os.listdir(root / "tmp") == []


def test_a_folder_that_vanished_is_not_an_empty_store(local_store: LocalArtifactStore, root: Path) -> None:
    root.rename(root.with_name("unmounted"))

    for call in (
        lambda: local_store.get(KEY),
        lambda: local_store.stat(KEY),
        lambda: local_store.put(KEY, b"x"),
        lambda: list(local_store.list("")),
        local_store.check,
        lambda: local_store.delete(KEY),
        lambda: local_store.sweep_temporary(0),
    ):
        with pytest.raises(StoreUnavailable):
            call()
    assert not root.exists()


def test_a_link_leads_to_its_object_until_it_is_over(local_store: LocalArtifactStore, root: Path) -> None:
    local_store.put(KEY, b"RIFF")
    link = urlsplit(local_store.url(KEY, 3600, DOWNLOAD))
    query = dict(parse_qsl(link.query))

    signed = local_store.verify(KEY, query, time.time())

    assert link.path == f"/v1/objects/{KEY}"
    assert signed.path == root / "objects" / KEY
    assert (signed.filename, signed.content_type) == ("Die Geschichte.wav", "audio/wav")
    local_store.verify(KEY, query, time.time() + 3500)
    with pytest.raises(LinkRefused, match="over"):
        local_store.verify(KEY, query, time.time() + 3601)


@pytest.mark.parametrize(("most_bytes", "content"), [(-1, None), (3, None), (4, b"RIFF"), (5, b"RIFF")])
def test_a_link_brings_a_small_object_along(
    local_store: LocalArtifactStore, most_bytes: int, content: bytes | None
) -> None:
    local_store.put(KEY, b"RIFF")
    query = dict(parse_qsl(urlsplit(local_store.url(KEY, 60, DOWNLOAD)).query))

    signed = local_store.verify(KEY, query, time.time(), most_bytes)

    assert (signed.content, signed.status.st_size) == (content, 4)


@pytest.mark.parametrize(
    "change",
    [
        {"expires": "99999999999"},
        {"filename": "evil.html"},
        {"type": "text/html"},
        {"signature": "A" * 43},
        {"signature": ""},
        {"signature": "ü"},
    ],
)
def test_a_changed_link_is_refused(local_store: LocalArtifactStore, change: dict[str, str]) -> None:
    local_store.put(KEY, b"RIFF")
    query = dict(parse_qsl(urlsplit(local_store.url(KEY, 60, DOWNLOAD)).query))

    with pytest.raises(LinkRefused, match="signature does not fit"):
        local_store.verify(KEY, query | change, time.time())


@pytest.mark.parametrize("missing", ["expires", "filename", "type", "signature"])
def test_an_incomplete_link_is_refused(local_store: LocalArtifactStore, missing: str) -> None:
    query = dict(parse_qsl(urlsplit(local_store.url(KEY, 60, DOWNLOAD)).query))
    del query[missing]

    with pytest.raises(LinkRefused, match=missing):
        local_store.verify(KEY, query, time.time())


@pytest.mark.parametrize("key", ["jobs/other/job_01k/artifacts/3/narration.wav", "../../etc/passwd", KEY + "/", ""])
def test_a_link_opens_no_other_object(local_store: LocalArtifactStore, key: str) -> None:
    local_store.put(KEY, b"RIFF")
    query = dict(parse_qsl(urlsplit(local_store.url(KEY, 60, DOWNLOAD)).query))

    with pytest.raises(LinkRefused):
        local_store.verify(key, query, time.time())


def test_a_link_of_another_secret_is_refused(local_store: LocalArtifactStore, root: Path) -> None:
    local_store.put(KEY, b"RIFF")
    other = LocalArtifactStore(root, b"another-secret-of-16-bytes")
    query = dict(parse_qsl(urlsplit(other.url(KEY, 60, DOWNLOAD)).query))

    with pytest.raises(LinkRefused):
        local_store.verify(KEY, query, time.time())


def test_a_link_to_a_deleted_object_says_missing(local_store: LocalArtifactStore) -> None:
    query = dict(parse_qsl(urlsplit(local_store.url(KEY, 60, DOWNLOAD)).query))

    with pytest.raises(ArtifactMissing):
        local_store.verify(KEY, query, time.time())


def test_a_short_secret_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="fewer than 16 bytes"):
        LocalArtifactStore(tmp_path, b"short")
