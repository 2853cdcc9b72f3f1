"""What files a command makes."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from rhapsode.cli.failures import Misuse

if TYPE_CHECKING:
    from rhapsode.client.request_options import AudioType, Format

LOSSLESS: tuple[AudioType, ...] = ("wav", "flac")


class Subtitles(StrEnum):
    SRT = "srt"
    VTT = "vtt"


SubtitlesOption = Annotated[
    Subtitles | None, typer.Option("--subtitles", help="Also write subtitles beside the speech.")
]


def audio_type(file: Path) -> AudioType:
    """By the file's suffix. Raises `Misuse`."""
    from rhapsode.client.request_options import AudioType

    suffix, known = file.suffix.lower().removeprefix("."), get_args(AudioType)
    for each in known:
        if suffix == each:
            return each
    listed = ", ".join(f".{each}" for each in known)
    raise Misuse(f"{file}: the name says which format is wanted, and has to end in one of {listed}")


def audio_format(file: Path, bitrate: int | None) -> Format:
    """Raises `Misuse` for a name of no format, and for a bitrate of one that has none."""
    form: Format = {"type": audio_type(file)}
    if bitrate is not None and form["type"] in LOSSLESS:
        raise Misuse(f"--bitrate: {form['type']} has no bitrate to choose")
    if bitrate is not None:
        form["bitrate_kbps"] = bitrate
    return form
