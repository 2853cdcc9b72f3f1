"""stack.json on a disk that takes nothing more."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from rhapsode.stack.errors import DataFolderUnusable
from rhapsode.stack.events import StackEvent, StateUnwritten
from rhapsode.stack.layout import DataDir
from rhapsode.stack.options import StackOptions
from rhapsode.stack.stack import Stack
from rhapsode.stack.state_file import read_state, take_lock


@pytest.fixture
def unwritable(tmp_path: Path) -> DataDir:
    """A folder with something in the way of the draft: the kernel refuses it to root as well."""
    data_dir = DataDir(tmp_path / "data")
    data_dir.create()
    data_dir.state_file.with_suffix(".draft").mkdir()
    return data_dir


def test_a_start_is_refused_and_lets_go_of_folder_and_port(unwritable: DataDir) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    stack = Stack(StackOptions(unwritable.root, port=port), {}, lambda event: None)

    with pytest.raises(DataFolderUnusable, match="choose another with --data-dir"):
        stack.start()

    os.close(take_lock(unwritable))
    with socket.socket() as again:
        again.bind(("127.0.0.1", port))


def test_a_stack_that_runs_says_so_once_and_writes_when_it_can(unwritable: DataDir) -> None:
    events: list[StackEvent] = []
    stack = Stack(StackOptions(unwritable.root), {}, events.append)

    assert [stack.note_children(()), stack.note_children(())] == [False, False]
    assert events == [StateUnwritten(unwritable.state_file, "Is a directory")]
    assert read_state(unwritable) is None

    unwritable.state_file.with_suffix(".draft").rmdir()
    assert stack.note_children(())
    assert read_state(unwritable) is not None
