"""`rhapsode backup` and `rhapsode restore`: of a stack at work, and of folders that cannot be taken."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
import redis

from rhapsode import Rhapsode
from rhapsode.stack.backup import COMMANDS, MANIFEST, NOTE, OBJECTS, VERSION, back_up, restore
from rhapsode.stack.errors import BackupRefused, DataFolderOutdated, DataFolderTaken
from rhapsode.stack.folder_format import claim_format
from rhapsode.stack.layout import DataDir
from rhapsode.stack.process_identity import start_mark
from rhapsode.stack.state_file import Lifetime, StackState, read_state, write_state
from storage.database.embedded_valkey import EmbeddedRedis
from storage.database.layout import LAYOUT
from tests.command_line import ONE_OF_EACH
from tests.process_tree import PATIENCE_S, end_everything_below
from tests.rhapsode.conftest import RunCli, StartCli

TEXT = "The wind and the sun were disputing which was the stronger."
SLOW = {"RHAPSODE_FAKE_STEP_S": "0.02"}

Up = Callable[[Path], tuple[subprocess.Popen[str], str]]


@pytest.fixture
def up(start_cli: StartCli) -> Up:
    def start(folder: Path) -> tuple[subprocess.Popen[str], str]:
        process = start_cli("up", "--port", "0", "--data-dir", str(folder), *ONE_OF_EACH, env=SLOW)
        assert process.stderr is not None
        said: list[str] = []
        for line in process.stderr:
            said.append(line)
            if line.startswith("Ctrl-C stops it") and (state := read_state(DataDir(folder))):
                return process, state.url
        raise AssertionError("".join(said))

    return start


def test_a_stack_that_is_backed_up_at_work_goes_on_elsewhere(
    up: Up, run_cli: RunCli, data_dir: Path, tmp_path: Path
) -> None:
    old, new, copy = data_dir / "old", data_dir / "new", tmp_path / "copy"
    process, url = up(old)
    with Rhapsode(url) as client:
        finished = client.wait(client.submit_job(TEXT), timeout_s=PATIENCE_S)
        artifact = client.artifacts(finished)[0]
        before = client.download(finished, artifact, tmp_path / "before")
        shared = client.share(finished, artifact)
        unfinished = client.submit_job(" ".join([TEXT] * 120))
        while client.job(unfinished.id).state != "running":
            pass

        taken = run_cli("backup", str(copy), "--data-dir", str(old))

        assert client.job(unfinished.id).state == "running", "it was to be backed up at work"
    assert taken.returncode == 0, taken.stderr
    end_everything_below([process.pid])
    made = run_cli("restore", str(copy), "--data-dir", str(new))
    assert made.returncode == 0, made.stderr

    _, url = up(new)

    with Rhapsode(url) as client:
        after = client.download(finished, artifact, tmp_path / "after")
        assert after.read_bytes() == before.read_bytes()
        link = httpx.URL(url).join(httpx.URL(shared.url).raw_path.decode())
        assert httpx.get(link).content == before.read_bytes(), "a link keeps its signature"
        client.wait(unfinished.id, timeout_s=PATIENCE_S).raise_unless_succeeded()


def test_what_valkey_stored_is_whole_while_it_writes_and_rewrites(short_dir: Path, tmp_path: Path) -> None:
    source, target = DataDir(short_dir / "written"), DataDir(short_dir / "restored")
    source.create()
    claim_format(source)
    stop = threading.Event()
    with EmbeddedRedis(source.valkey) as server, redis.Redis.from_url(server.url) as client:
        writer = threading.Thread(target=count_both, args=(server.url, stop))
        writer.start()
        try:
            for number in range(8):
                client.bgrewriteaof()
                least = int(client.get("one") or 0)
                back_up(source, tmp_path / str(number))
                most = int(client.get("one") or 0)
                restore(tmp_path / str(number), target)
                with EmbeddedRedis(target.valkey) as again, redis.Redis.from_url(again.url) as copy:
                    one, two = (int(copy.get(name) or 0) for name in ("one", "two"))
                remove(target.root)
                assert one == two
                assert least <= one <= most
                while client.info("persistence")["aof_rewrite_in_progress"]:
                    pass
        finally:
            stop.set()
            writer.join()


def count_both(url: str, stop: threading.Event) -> None:
    with redis.Redis.from_url(url) as client:
        while not stop.is_set():
            commands = client.pipeline()
            commands.incr("one")
            commands.incr("two")
            commands.set(f"key:{os.urandom(8).hex()}", "x" * 200)
            commands.execute()


def remove(folder: Path) -> None:
    for path, folders, files in os.walk(folder, topdown=False):
        for name in files:
            Path(path, name).unlink()
        for name in folders:
            Path(path, name).rmdir()
    folder.rmdir()


@pytest.fixture
def source(tmp_path: Path) -> DataDir:
    """A data folder with an object and a command."""
    folder = DataDir(tmp_path / "data")
    folder.create()
    claim_format(folder)
    folder.secret("url")
    (folder.root / COMMANDS).mkdir()
    (folder.root / COMMANDS / "a.incr").write_text("SET")
    (folder.root / COMMANDS / MANIFEST).write_text("file a.incr seq 2 type i\nfile gone.base seq 1 type h\n")
    (folder.root / OBJECTS / "jobs").mkdir(parents=True)
    (folder.root / OBJECTS / "jobs" / "a.wav").write_bytes(b"RIFF")
    (folder.objects / "tmp").mkdir()
    (folder.objects / "tmp" / "draft").write_bytes(b"RI")
    return folder


def test_a_backup_has_what_a_data_folder_needs_and_nothing_else(source: DataDir, tmp_path: Path) -> None:
    back_up(source, tmp_path / "copy")
    restore(tmp_path / "copy", DataDir(tmp_path / "again"))

    files = {f"{path.relative_to(tmp_path / 'again')}" for path in (tmp_path / "again").rglob("*") if path.is_file()}
    commands = str(COMMANDS)
    assert files == {"layout", "url.secret", f"{commands}/a.incr", f"{commands}/{MANIFEST}", f"{OBJECTS}/jobs/a.wav"}
    assert DataDir(tmp_path / "again").secret("url") == source.secret("url")
    assert (tmp_path / "again" / "url.secret").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "copy").stat().st_mode & 0o777 == 0o700
    assert "gone" not in (tmp_path / "again" / COMMANDS / MANIFEST).read_text()


def test_a_backup_that_fails_leaves_nothing(source: DataDir, tmp_path: Path) -> None:
    os.mkfifo(source.root / "odd.secret")

    with pytest.raises(OSError, match="named pipe"):
        back_up(source, tmp_path / "copy")

    assert {path.name for path in tmp_path.iterdir()} == {"data"}


def test_files_that_valkey_replaces_again_and_again_are_refused(source: DataDir, tmp_path: Path) -> None:
    (source.root / COMMANDS / "a.incr").unlink()

    with pytest.raises(BackupRefused, match="try again"):
        back_up(source, tmp_path / "copy")

    assert {path.name for path in tmp_path.iterdir()} == {"data"}


def test_folders_that_cannot_be_backed_up_are_refused(source: DataDir, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("")
    (tmp_path / "cut.partial").mkdir()

    for data_dir, target, words in (
        (DataDir(tmp_path / "none"), tmp_path / "copy", "has no data"),
        (source, source.root / "copy", "is in the data folder"),
        (source, tmp_path / "full", "is not an empty folder"),
        (source, tmp_path / "full" / "mine", "is not an empty folder"),
        (source, tmp_path / "cut", "was killed: remove it"),
    ):
        with pytest.raises(BackupRefused, match=words):
            back_up(data_dir, target)
    assert (tmp_path / "full" / "mine").exists()
    (source.root / "layout").write_text(f"{LAYOUT + 1}\n")
    with pytest.raises(DataFolderOutdated):
        back_up(source, tmp_path / "copy")


def test_folders_that_cannot_be_restored_are_refused(source: DataDir, tmp_path: Path) -> None:
    copy, running = tmp_path / "copy", DataDir(tmp_path / "running")
    back_up(source, copy)
    running.create()
    mark = start_mark(os.getpid()) or ""
    write_state(running, StackState(url="http://here", pid=os.getpid(), mark=mark, lifetime=Lifetime.SERVER))

    with pytest.raises(DataFolderTaken):
        restore(copy, running)
    with pytest.raises(BackupRefused, match="is not an empty folder"):
        restore(copy, source)
    with pytest.raises(BackupRefused, match="is no backup"):
        restore(source.root, DataDir(tmp_path / "new"))
    (copy / NOTE).write_text(f"{VERSION}0\n")
    with pytest.raises(BackupRefused, match=r"of version '10', this Rhapsode reads 1$"):
        restore(copy, DataDir(tmp_path / "new"))
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("name", ["RHAPSODE_REDIS_URL", "RHAPSODE_STORE"])
def test_data_that_lies_elsewhere_is_not_left_out_in_silence(name: str, run_cli: RunCli, tmp_path: Path) -> None:
    outcome = run_cli("backup", str(tmp_path / "copy"), env={name: "elsewhere"})

    assert (outcome.returncode, outcome.stderr.count("\n")) == (2, 1)
    assert f"{name} keeps data outside the data folder" in outcome.stderr
