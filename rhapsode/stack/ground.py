"""What every part of a stack needs of this machine, asked before any is started."""

from __future__ import annotations

from pathlib import Path

from rhapsode.stack.errors import DataFolderUnnamable, TooFewFiles
from storage.runtime.config.file_limit import allow_files

LEAST_FILES = 256
"""Files and sockets that one process has to be allowed. Valkey alone wants 32, and a connection of each process."""


def refuse_unnamable(data_dir: Path) -> None:
    """Raises `DataFolderUnnamable` for a name that no line of a configuration file can hold."""
    name = str(data_dir)
    if any(ord(letter) < 32 or ord(letter) == 127 or 0xD800 <= ord(letter) <= 0xDFFF for letter in name):
        raise DataFolderUnnamable(data_dir)


def refuse_few_files() -> None:
    """Raises `TooFewFiles`."""
    allowed = allow_files(LEAST_FILES)
    if allowed < LEAST_FILES:
        raise TooFewFiles(allowed, LEAST_FILES)
