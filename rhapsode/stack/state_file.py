"""stack.json: how other commands find a running stack, and how the next start finds what a killed one left.

And the two locks beside it. The kernel drops them when their holder dies, however it dies.
"""

from __future__ import annotations

import enum
import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from rhapsode.stack.errors import DataFolderTaken
from rhapsode.stack.layout import DataDir
from rhapsode.stack.process_identity import start_mark


class Lifetime(enum.StrEnum):
    """How long a stack runs: until it is stopped, or as long as the command that started it."""

    SERVER = "server"
    COMMAND = "command"


class ProcessRecord(BaseModel):
    """A process that is still the one recorded only while its start mark is the same."""

    model_config = ConfigDict(frozen=True)

    name: str
    pid: int
    mark: str

    def is_alive(self) -> bool:
        return start_mark(self.pid) == self.mark


class StackState(BaseModel):
    """is_ready: it has come up; what fails afterwards is repaired while it serves. An older one does not say."""

    model_config = ConfigDict(frozen=True)

    url: str
    pid: int
    mark: str
    lifetime: Lifetime
    is_ready: bool = True
    children: tuple[ProcessRecord, ...] = ()

    def is_alive(self) -> bool:
        return start_mark(self.pid) == self.mark


def read_state(data_dir: DataDir) -> StackState | None:
    """What the last stack wrote, alive or not; None if there was none or its words make no sense."""
    try:
        return StackState.model_validate_json(data_dir.state_file.read_bytes())
    except (FileNotFoundError, NotADirectoryError, ValidationError):
        return None


def write_state(data_dir: DataDir, state: StackState) -> None:
    draft = data_dir.state_file.with_suffix(".draft")
    draft.write_text(state.model_dump_json(indent=2) + "\n")
    draft.replace(data_dir.state_file)


def take_lock(data_dir: DataDir) -> int:
    """The right to run the only stack on this folder, as a descriptor. Raises `DataFolderTaken` saying by whom."""
    descriptor = _open(data_dir.lock_file)
    if _try_lock(descriptor):
        return descriptor
    os.close(descriptor)
    holder = read_state(data_dir)
    if holder is None or not holder.is_alive():
        raise DataFolderTaken(data_dir.root, None, None)
    raise DataFolderTaken(data_dir.root, holder.pid, holder.url)


@contextmanager
def using_stack(data_dir: DataDir) -> Generator[None]:
    """While this is held, a stack that another command started for itself waits with its end."""
    descriptor = _open(data_dir.users_file)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield
    finally:
        os.close(descriptor)


def is_used_by_others(data_dir: DataDir) -> bool:
    descriptor = _open(data_dir.users_file)
    try:
        return not _try_lock(descriptor)
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _try_lock(descriptor: int) -> bool:
    """False where another process holds it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
