"""Options of the files to write."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast, get_args

import typer

from rhapsode.cli.failures import Misuse
from rhapsode.cli.job_fields import JobField

if TYPE_CHECKING:
    from rhapsode.cli.narrate.targets import Targets
    from rhapsode.client.request_options import AudioType, FormatFields, LoudnessFields

LOSSLESS: tuple[AudioType, ...] = ("wav", "flac")


class Subtitles(StrEnum):
    """An enumeration: Typer takes no list of a `Literal`."""

    SRT = "srt"
    VTT = "vtt"


SubtitlesOption = Annotated[
    list[Subtitles] | None,
    typer.Option("--subtitles", help="Write subtitles beside the audio. Repeat it for both formats."),
]


ChapterFilesOption = Annotated[
    Literal["wav", "flac", "mp3", "opus", "m4b", "aac"] | None,
    typer.Option(
        "--chapter-files", help="Also write one numbered file for each chapter, in a folder named after the output."
    ),
]


LEVELLED: LoudnessFields = {"target_lufs": -19.0, "scope": "segment"}
"""Without a preset."""

LoudnessOption = Annotated[
    str | None,
    typer.Option(
        metavar="LUFS",
        help='-40 to -8: integrated loudness (EBU R128); "none": unchanged; else each segment at -19.',
    ),
    JobField("output.loudness.target_lufs", wanted="between -40 and -8"),
]


def audio_type(file: Path) -> AudioType:
    """By the file's suffix. Raises `Misuse`."""
    from rhapsode.client.request_options import AudioType

    suffix, known = file.suffix.lower().removeprefix("."), get_args(AudioType)
    if suffix in known:
        return cast("AudioType", suffix)
    listed = ", ".join(f".{each}" for each in known)
    raise Misuse(f"{file}: the name must end in one of {listed}")


def formats(targets: Targets, bitrate: int | None) -> list[FormatFields]:
    """The formats of the targets. Raises `Misuse` for an unknown suffix, and for a bitrate of lossless formats."""
    wanted: list[FormatFields] = []
    if targets.file is not None:
        wanted.append({"type": audio_type(targets.file)})
    if targets.chapters is not None:
        wanted.append({"type": targets.chapters.form, "files": "chapters"})
    if bitrate is None:
        return wanted
    coded = [form for form in wanted if form["type"] not in LOSSLESS]
    if not coded:
        raise Misuse(f"--bitrate: {wanted[0]['type']} has no bitrate to choose")
    for form in coded:
        form["bitrate_kbps"] = bitrate
    return wanted
