"""What files a command makes: the options, and the `output` they become."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rhapsode.cli.failures import Misuse
from rhapsode.cli.options import check_between

if TYPE_CHECKING:
    from rhapsode.client.request_options import AudioType, Format, Output

SUFFIXES: tuple[AudioType, ...] = ("wav", "flac", "mp3", "opus", "m4b")
LOSSLESS: tuple[AudioType, ...] = ("wav", "flac")

# What the API takes. Known here because a command may start a whole system before the API could say so.
SAMPLE_RATES = (8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000)
BITRATES_KBPS = (1, 320)
LOUDNESS_LUFS = (-40, -8)


class Subtitles(StrEnum):
    SRT = "srt"
    VTT = "vtt"


LoudnessOption = Annotated[
    float | None,
    typer.Option(
        metavar="LUFS",
        help="-40 to -8: bring the whole to this loudness (EBU R128), for instance -18; else as spoken.",
    ),
]
SampleRateOption = Annotated[
    int | None, typer.Option("--sample-rate", metavar="HZ", help="Resample, for instance to 44100; else the model's.")
]
BitrateOption = Annotated[
    int | None,
    typer.Option(
        "--bitrate",
        metavar="KBPS",
        min=BITRATES_KBPS[0],
        max=BITRATES_KBPS[1],
        help="Of .mp3, .opus and .m4b; else 96, 48 and 96.",
    ),
]
SubtitlesOption = Annotated[
    Subtitles | None, typer.Option("--subtitles", help="Also write subtitles beside the speech.")
]
DestinationOption = Annotated[
    str | None,
    typer.Option(
        "--destination",
        metavar="FOLDERS",
        help="Keep the files under these folders of the service's bucket, for instance books/42.",
    ),
]


def audio_type(file: Path) -> AudioType:
    """By the file's suffix. Raises `Misuse`."""
    suffix = file.suffix.lower().removeprefix(".")
    for known in SUFFIXES:
        if suffix == known:
            return known
    listed = ", ".join(f".{known}" for known in SUFFIXES)
    raise Misuse(f"{file}: the name says which format is wanted, and has to end in one of {listed}")


def wanted_output(
    file: Path,
    loudness: float | None,
    sample_rate: int | None,
    bitrate: int | None,
    subtitles: Subtitles | None,
) -> Output:
    """Raises `Misuse` for a name of no format and for what no server could make of it."""
    form: Format = {"type": audio_type(file)}
    check_between("--loudness", loudness, LOUDNESS_LUFS)
    if sample_rate is not None and sample_rate not in SAMPLE_RATES:
        raise Misuse(f"--sample-rate: {sample_rate} is none of {', '.join(map(str, SAMPLE_RATES))}")
    if bitrate is not None and form["type"] in LOSSLESS:
        raise Misuse(f"--bitrate: {form['type']} has no bitrate to choose")
    if bitrate is not None:
        form["bitrate_kbps"] = bitrate
    output: Output = {"formats": [form]}
    if loudness is not None:
        output["loudness"] = {"target_lufs": loudness}
    if sample_rate is not None:
        output["sample_rate"] = sample_rate
    if subtitles is not None:
        output["subtitles"] = [subtitles.value]
    return output
