from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from rhapsode.stack.errors import DataFolderOutdated
from rhapsode.stack.folder_format import claim_format
from rhapsode.stack.layout import DataDir
from storage.database.layout import LAYOUT
from tests.rhapsode.conftest import CLI, clean_environment


@pytest.fixture
def folder(tmp_path: Path) -> DataDir:
    made = DataDir(tmp_path / "data")
    made.create()
    return made


def test_a_new_folder_says_which_layout_it_has(folder: DataDir) -> None:
    claim_format(folder)
    claim_format(folder)

    assert (folder.root / "layout").read_text() == f"{LAYOUT}\n"


def test_a_folder_from_before_folders_said_so_is_old(folder: DataDir) -> None:
    (folder.valkey / "password").write_text("secret")

    with pytest.raises(DataFolderOutdated, match="layout 1"):
        claim_format(folder)

    assert not (folder.root / "layout").exists()


def test_a_folder_of_a_newer_version_asks_for_an_upgrade(folder: DataDir) -> None:
    (folder.root / "layout").write_text(f"{LAYOUT + 1}\n")

    with pytest.raises(DataFolderOutdated, match=rf"a newer version .* \(layout {LAYOUT + 1}.*upgrade this one"):
        claim_format(folder)


def test_up_on_a_folder_of_another_version_ends_with_one_line(folder: DataDir) -> None:
    (folder.root / "layout").write_text("1\n")
    command = [CLI, "up", "--port", "0", "--data-dir", folder.root]

    outcome = subprocess.run(command, capture_output=True, text=True, check=False, env=clean_environment(), timeout=60)

    assert outcome.returncode == 1
    assert outcome.stderr.count("\n") == 1
    assert (
        f"{folder.root} was written by another version of Rhapsode (layout 1, this one has {LAYOUT})" in outcome.stderr
    )
    assert not (folder.root / "stack.json").exists()
