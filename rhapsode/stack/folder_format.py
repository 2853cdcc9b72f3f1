"""Which layout a data folder has: a folder of another version is left as it is, and said to be one."""

from __future__ import annotations

from pathlib import Path

from rhapsode.stack.errors import DataFolderOutdated
from rhapsode.stack.layout import DataDir
from storage.database.layout import LAYOUT

UNNAMED = "1"
"""Of folders that were written before folders said which layout they have."""


def claim_format(data_dir: DataDir) -> None:
    """Call under the folder's lock. Raises `DataFolderOutdated`; then nothing in the folder was changed."""
    refuse_outdated(data_dir)
    if not _note(data_dir).exists():
        draft = _note(data_dir).with_suffix(".draft")
        draft.write_text(f"{LAYOUT}\n")
        draft.replace(_note(data_dir))


def refuse_outdated(data_dir: DataDir) -> None:
    """Changes nothing; the folder need not be there. Raises `DataFolderOutdated`."""
    if _note(data_dir).exists():
        found = _note(data_dir).read_text().strip()
    elif data_dir.valkey.is_dir() and any(data_dir.valkey.iterdir()):
        found = UNNAMED
    else:
        return
    if found != str(LAYOUT):
        raise DataFolderOutdated(data_dir.root, found, LAYOUT)


def _note(data_dir: DataDir) -> Path:
    return data_dir.root / "layout"
