"""Names from a server as names of files."""

from __future__ import annotations

from pathlib import Path, PurePosixPath, PureWindowsPath

from rhapsode.cli.failures import Misuse
from rhapsode.errors import RhapsodeError


def is_plain(name: str) -> bool:
    """Whether a file of this name stays in its folder and is visible."""
    leads_nowhere = PurePosixPath(name).name == PureWindowsPath(name).name == name
    return bool(name) and leads_nowhere and not name.startswith(".") and name.isprintable()


def plain_name(name: str) -> str:
    """The name. Raises `RhapsodeError` for a name that leads out of its folder."""
    if not is_plain(name):
        raise RhapsodeError(f"the server names a file {name[:100]!r}, which is not a plain name; nothing is written")
    return name


def plain_id(given: str) -> str:
    """The id. Raises `Misuse` for an id that cannot be a part of a file name."""
    if not is_plain(given):
        raise Misuse(f"{given[:100]!r} is not an id")
    return given


def make_folder(folder: Path) -> None:
    """Unless it exists. Raises `Misuse` where there can be none."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Misuse(f"--save: {folder} is not a folder: {error.strerror}") from error


def titled(name: str, title: str) -> str:
    """The narration's file gets the title as its name. Other names begin with it."""
    if not title:
        return name
    stem, dot, suffix = name.partition(".")
    return f"{title}.{suffix}" if dot and stem == "narration" else f"{title} - {name}"
