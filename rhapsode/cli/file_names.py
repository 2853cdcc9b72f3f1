"""Names that a server gives, as names of files here."""

from __future__ import annotations

from pathlib import PurePosixPath, PureWindowsPath

from rhapsode.errors import RhapsodeError


def plain_name(name: str) -> str:
    """The name itself. Raises `RhapsodeError` for one that leads out of the folder that it is put in."""
    is_plain = PurePosixPath(name).name == PureWindowsPath(name).name == name
    if not name or not is_plain or name.startswith(".") or not name.isprintable():
        raise RhapsodeError(f"the server calls a file {name[:100]!r}, which is no plain name; nothing is written")
    return name
