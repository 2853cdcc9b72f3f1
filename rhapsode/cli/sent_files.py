"""Files that go to the server as they are, looked at before it is asked."""

from __future__ import annotations

from pathlib import Path

from rhapsode.cli.failures import Misuse


def readable(path: Path) -> Path:
    """The path, of a file that has content. Raises `Misuse`: better before a server is asked than after."""
    try:
        with path.open("rb") as document:
            is_empty = not document.read(1)
    except FileNotFoundError as error:
        raise Misuse(f"{path}: there is no such file") from error
    except IsADirectoryError as error:
        raise Misuse(f"{path} is a folder, not a file") from error
    except OSError as error:
        raise Misuse(f"{path} cannot be read: {error.strerror}") from error
    if is_empty:
        raise Misuse(f"{path} is empty")
    return path
