"""Unnamed files in the system's temporary folder (TMPDIR): they vanish with this process, however that ends."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from typing import IO

from storage.audio.encoding import TARGET_ERRORS
from storage.errors import StoreUnavailable

FREE_BYTES_LEFT = 256 * 1024 * 1024
"""What the temporary folder keeps free for others."""


@contextmanager
def scratch_file() -> Generator[IO[bytes]]:
    """An empty file for writing and reading. Raises `StoreUnavailable` where there is none."""
    with scratch_errors():
        file = tempfile.TemporaryFile(prefix="rhapsode-")  # noqa: SIM115 (closed below, and its errors named)
    try:
        yield file
    finally:
        with scratch_errors():
            file.close()


@contextmanager
def scratch_errors() -> Generator[None]:
    """A file that cannot be written, because the disk is full, is a `StoreUnavailable`: room may come."""
    try:
        yield
    except TARGET_ERRORS as error:
        raise StoreUnavailable(f"no temporary file in {tempfile.gettempdir()}: {error}") from error


def require_room(num_bytes: int) -> None:
    """Raises `StoreUnavailable` unless so much can be written and something is left for others."""
    if not num_bytes:
        return
    folder = tempfile.gettempdir()
    free = shutil.disk_usage(folder).free
    if free - num_bytes < FREE_BYTES_LEFT:
        raise StoreUnavailable(f"{folder} has {free >> 20} MiB free; assembling needs {num_bytes >> 20} MiB there")
