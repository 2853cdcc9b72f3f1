"""A cover picture, checked before the first request."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rhapsode.cli.failures import Misuse
from rhapsode.cli.narrate.sent_files import readable, reading

CoverOption = Annotated[
    Path | None, typer.Option(metavar="IMAGE", help="The cover, JPEG or PNG. Default: the document's.")
]


def readable_cover(path: Path) -> Path:
    """The path. Raises `Misuse` for an unsupported picture."""
    from storage.audio.cover import MAX_COVER_BYTES, CoverUnusable, read_cover

    with reading(str(readable(path))), path.open("rb") as file:
        data = file.read(MAX_COVER_BYTES + 1)
    try:
        read_cover(data)
    except CoverUnusable as error:
        raise Misuse(f"--cover: {path} cannot be used: {error}") from error
    return path
