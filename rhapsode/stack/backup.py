"""A copy of a data folder that a stack may be using, and a data folder made of it.

Valkey only appends to its file of commands, and starts a new one when it rewrites. So a copy of these files is what was
stored at one moment, but for a last command that may be cut, which Valkey leaves out. The objects are taken afterwards:
a store that knows more than Valkey is what the janitor reconciles.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from rhapsode.stack.errors import BackupRefused, DataFolderTaken
from rhapsode.stack.folder_format import refuse_outdated
from rhapsode.stack.layout import DataDir
from rhapsode.stack.state_file import read_state

VERSION = "1"
NOTE = "backup"
"""A file with the version."""

COMMANDS = Path("valkey", "appendonlydir")
MANIFEST = "appendonly.aof.manifest"
OBJECTS = Path("objects", "objects")
"""Without the folder beside it, which has what is not written yet."""

_TRIES = 20
_OTHER_FILE_SYSTEM = {errno.EXDEV, errno.EPERM, errno.ENOTSUP, errno.EMLINK}


def back_up(data_dir: DataDir, target: Path) -> None:
    """Whole, or not there. Raises `StackError`, `OSError`."""
    if not (data_dir.root / COMMANDS / MANIFEST).is_file():
        raise BackupRefused(f"{data_dir.root} has no data of rhapsode up")
    if target.is_relative_to(data_dir.root):
        raise BackupRefused(f"{target} is in the data folder: choose another place")
    refuse_outdated(data_dir)
    with _draft_of(target) as draft:
        _copy_data(data_dir.root, draft)
        (draft / NOTE).write_text(f"{VERSION}\n")
        _sync(draft / NOTE)


def restore(source: Path, data_dir: DataDir) -> None:
    """Whole, or not there. Raises `StackError`, `OSError`."""
    try:
        version = (source / NOTE).read_text().strip()
    except (FileNotFoundError, NotADirectoryError):
        raise BackupRefused(f"{source} is no backup of rhapsode backup") from None
    if version != VERSION:
        raise BackupRefused(f"{source} is a backup of version {version[:20]!r}, this Rhapsode reads {VERSION}")
    refuse_outdated(DataDir(source))
    if (running := read_state(data_dir)) and running.is_alive():
        raise DataFolderTaken(data_dir.root, running.pid, running.url)
    with _draft_of(data_dir.root) as draft:
        _copy_data(source, draft)


@contextmanager
def _draft_of(target: Path) -> Generator[Path]:
    """A new folder that becomes `target` at the end. Raises `BackupRefused` where that has something already."""
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise BackupRefused(f"{target} is not an empty folder")
    draft = target.with_name(f"{target.name}.partial")
    try:
        draft.mkdir(mode=0o700, parents=True)
    except FileExistsError:
        raise BackupRefused(f"{draft} is there, from a run that is not over or was killed: remove it") from None
    try:
        yield draft
        _sync(draft)
        draft.rename(target)
    except BaseException:
        shutil.rmtree(draft)
        raise
    _sync(target.parent)


def _copy_data(source: Path, draft: Path) -> None:
    for file in (source / "layout", *source.glob("*.secret")):
        _copy(file, draft / file.name)
    (draft / COMMANDS).mkdir(mode=0o700, parents=True)
    _copy_commands(source / COMMANDS, draft / COMMANDS)
    for folder, _, names in os.walk(source / OBJECTS, onerror=_raise_unless_gone):
        there = draft / Path(folder).relative_to(source)
        there.mkdir(mode=0o700, parents=True)
        for name in names:
            # An object that is deleted meanwhile is no longer needed.
            with suppress(FileNotFoundError):
                _link(Path(folder, name), there / name)
        _sync(there)


def _copy_commands(source: Path, target: Path) -> None:
    """Again where Valkey replaced the files meanwhile. What it is about to remove (`type h`) is left out."""
    for _ in range(_TRIES):
        lines = [line for line in (source / MANIFEST).read_text().splitlines() if not line.endswith("type h")]
        try:
            for line in lines:
                name = line.split()[1]
                _copy(source / name, target / name)
        except FileNotFoundError:
            continue
        (target / MANIFEST).write_text("".join(f"{line}\n" for line in lines))
        _sync(target / MANIFEST)
        return _sync(target)
    raise BackupRefused(f"Valkey rewrote {source} {_TRIES} times meanwhile: try again")


def _link(source: Path, target: Path) -> None:
    """Objects never change, so one file system needs no second copy."""
    try:
        target.hardlink_to(source)
    except OSError as error:
        if error.errno not in _OTHER_FILE_SYSTEM:
            raise
        _copy(source, target)


def _copy(source: Path, target: Path) -> None:
    shutil.copy(source, target, follow_symlinks=False)
    _sync(target)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _raise_unless_gone(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error
