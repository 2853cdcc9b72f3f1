"""Which layout a data folder has: a folder of another version is left as it is, and said to be one."""

from __future__ import annotations

from rhapsode.stack.errors import DataFolderOutdated
from rhapsode.stack.layout import DataDir
from storage.layout import LAYOUT

UNNAMED = 1
"""Of folders that were written before folders said which layout they have."""


def claim_format(data_dir: DataDir) -> None:
    """Call under the folder's lock. Raises `DataFolderOutdated`; then nothing in the folder was changed."""
    note = data_dir.root / "layout"
    if note.exists():
        found = note.read_text().strip()
    elif any(data_dir.valkey.iterdir()):
        found = str(UNNAMED)
    else:
        draft = note.with_suffix(".draft")
        draft.write_text(f"{LAYOUT}\n")
        draft.replace(note)
        return
    if found != str(LAYOUT):
        raise DataFolderOutdated(data_dir.root, found)
