"""Names that a server gives, as names of files here."""

from __future__ import annotations

from pathlib import PurePosixPath, PureWindowsPath

from rhapsode.cli.failures import Misuse
from rhapsode.errors import RhapsodeError


def is_plain(name: str) -> bool:
    """It stays in the folder that it is put in, and shows there."""
    leads_nowhere = PurePosixPath(name).name == PureWindowsPath(name).name == name
    return bool(name) and leads_nowhere and not name.startswith(".") and name.isprintable()


def plain_name(name: str) -> str:
    """The name itself. Raises `RhapsodeError` for one that leads out of the folder that it is put in."""
    if not is_plain(name):
        raise RhapsodeError(f"the server names a file {name[:100]!r}, which is not a plain name; nothing is written")
    return name


def plain_id(given: str) -> str:
    """The id itself. Raises `Misuse` for one that was typed and cannot be a part of a name here."""
    if not is_plain(given):
        raise Misuse(f"{given[:100]!r} is not an id")
    return given


def titled(name: str, title: str) -> str:
    """The narration's files are called like the title; others begin with it."""
    if not title:
        return name
    stem, dot, suffix = name.partition(".")
    return f"{title}.{suffix}" if dot and stem == "narration" else f"{title} - {name}"
