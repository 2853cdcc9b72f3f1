"""Files to upload, checked before the first request."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from rhapsode.cli.failures import Misuse


@contextmanager
def reading(name: str) -> Generator[None]:
    """An error of the block becomes a `Misuse` with the file's name."""
    try:
        yield
    except FileNotFoundError as error:
        raise Misuse(f"{name}: no such file") from error
    except IsADirectoryError as error:
        raise Misuse(f"{name} is a folder, not a file") from error
    except OSError as error:
        raise Misuse(f"{name} cannot be read: {error.strerror}") from error


def readable(path: Path) -> Path:
    """The path of a file with content. Raises `Misuse`."""
    with reading(str(path)), path.open("rb") as document:
        is_empty = not document.read(1)
    if is_empty:
        raise Misuse(f"{path} is empty")
    return path
