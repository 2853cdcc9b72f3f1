"""A download that shows under its name only when it is whole: written beside it, checked, then renamed."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO

from rhapsode.errors import DownloadCorrupt

if TYPE_CHECKING:
    from rhapsode.contract.jobs.answer import Artifact


class PartFile:
    """A context manager. Without `commit` nothing is left behind and an existing file keeps its content.

    Every method may raise `OSError`; its `filename` is the path that the user knows.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._temporary = path.parent / f".{path.name}.{secrets.token_hex(4)}.part"
        self._file: BinaryIO
        self._digest = hashlib.sha256()
        self._bytes = 0

    def __enter__(self) -> PartFile:
        try:
            with _named(self.path):
                self._file = open(self._temporary, "xb")
        except BaseException:
            # A Ctrl-C can come when the file is there and not yet known.
            self._temporary.unlink(missing_ok=True)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            # On a full disk closing fails too, with what is still in the buffer.
            self._file.close()
        except OSError:
            if kind is None:
                raise
        finally:
            self._temporary.unlink(missing_ok=True)

    @property
    def num_bytes(self) -> int:
        """What was written since the beginning, or since the last `restart`."""
        return self._bytes

    def restart(self) -> None:
        """Forget what was written: the next connection begins at the first byte."""
        self._file.seek(0)
        self._file.truncate()
        self._digest = hashlib.sha256()
        self._bytes = 0

    def write(self, data: bytes) -> None:
        with _named(self.path):
            self._file.write(data)
        self._digest.update(data)
        self._bytes += len(data)

    def overwrite_start(self, data: bytes) -> None:
        """Overwrite the start with sizes, in an unrecorded file: `commit` would find it changed."""
        with _named(self.path):
            self._file.seek(0)
            self._file.write(data)

    def commit(self, expected: Artifact) -> None:
        """Put the file in its place. Raises `DownloadCorrupt` if it is not what the job recorded."""
        if self._bytes != expected.bytes:
            raise DownloadCorrupt(f"{expected.name} has {self._bytes} bytes, the job recorded {expected.bytes}")
        if self._digest.hexdigest() != expected.sha256:
            raise DownloadCorrupt(f"the sha256 of {expected.name} is not the one the job recorded")
        self.put_in_place()

    def put_in_place(self) -> None:
        """Of an unrecorded file."""
        with _named(self.path):
            self._file.flush()
            os.fsync(self._file.fileno())
            os.replace(self._temporary, self.path)


@contextmanager
def _named(path: Path) -> Generator[None]:
    """Name the user's file: a failed write has no name, and a failed rename that of the part."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
