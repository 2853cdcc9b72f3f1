"""A download that shows under its name only when it is whole: written beside it, checked, then renamed."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path
from types import TracebackType

from rhapsode.errors import DownloadCorrupt
from rhapsode.resources import Artifact


class PartFile:
    """A context manager. Without `commit` nothing is left behind and an existing file keeps its content."""

    def __init__(self, path: Path) -> None:
        self.path = path
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
        self._temporary = Path(name)
        self._file = os.fdopen(handle, "wb")
        self._digest = hashlib.sha256()
        self._bytes = 0

    def __enter__(self) -> PartFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        self._temporary.unlink(missing_ok=True)

    def restart(self) -> None:
        """Forget what was written: the next connection begins at the first byte."""
        self._file.seek(0)
        self._file.truncate()
        self._digest = hashlib.sha256()
        self._bytes = 0

    def write(self, data: bytes) -> None:
        self._file.write(data)
        self._digest.update(data)
        self._bytes += len(data)

    def commit(self, expected: Artifact) -> None:
        """Put the file in its place. Raises `DownloadCorrupt` if it is not what the job recorded."""
        if self._bytes != expected.bytes:
            raise DownloadCorrupt(f"{expected.name} has {self._bytes} bytes, the job recorded {expected.bytes}")
        if self._digest.hexdigest() != expected.sha256:
            raise DownloadCorrupt(f"the sha256 of {expected.name} is not the one the job recorded")
        self._file.flush()
        os.fsync(self._file.fileno())
        # mkstemp makes private files; what a user downloads has the permissions of any new file.
        os.chmod(self._temporary, 0o666 & ~_umask())
        os.replace(self._temporary, self.path)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
