"""What `rhapsode narrate` can be told, by theme."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rhapsode.cli.narrate.audio_options import (
    BitrateOption,
    DestinationOption,
    LoudnessOption,
    SampleRateOption,
    SubtitlesOption,
    wanted_output,
)
from rhapsode.cli.options import (
    CheckpointOption,
    DataDirOption,
    DeviceOption,
    ServerOption,
    SlotsOption,
)

if TYPE_CHECKING:
    from rhapsode.client.request_options import JobOptions, Output


@dataclass(frozen=True, slots=True)
class SpeechOptions:
    """Who speaks, and how the text is read."""

    voice: Annotated[
        str | None, typer.Option(help="A speaker of the model, or a voice of yours; else the model's first.")
    ] = None
    speaker: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VOICE", help="Who speaks lines that begin with `NAME:`; may be given several times."
        ),
    ] = None
    instructions: Annotated[
        str | None,
        typer.Option(help="How it is spoken, or with a model that designs voices who speaks, in your words."),
    ] = None
    language: Annotated[str | None, typer.Option(help="A language of the model; else the model's choice.")] = None
    dictionary: Annotated[
        list[str] | None, typer.Option(metavar="DICTIONARY", help="How words are respelt: pd_...@1; may be repeated.")
    ] = None
    words: Annotated[
        bool | None,
        typer.Option(
            "--words/--raw", help="Numbers, dates, money and units as words, or as they are; else as the model wants."
        ),
    ] = None
    describe_images: Annotated[
        bool, typer.Option("--describe-images", help="Say what a document's pictures show, where it says so.")
    ] = False
    model: Annotated[str | None, typer.Option(help="A model of the server; else its only one.")] = None

    def wishes(self, speakers: dict[str, str], output: Output) -> JobOptions:
        """As a job is told. speakers: the cast of `speaker`, read."""
        return {
            "voice": self.voice,
            "instructions": self.instructions,
            "language": self.language,
            "model": self.model,
            "output": output,
            "speakers": speakers or None,
            "pronunciation_dictionaries": self.dictionary,
            "normalization": None if self.words is None else "basic" if self.words else "off",
        }


@dataclass(frozen=True, slots=True)
class AudioOptions:
    """What is written."""

    loudness: LoudnessOption = None
    sample_rate: SampleRateOption = None
    bitrate: BitrateOption = None
    subtitles: SubtitlesOption = None
    destination: DestinationOption = None
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace an existing output.")] = False

    def wanted(self, file: Path) -> Output:
        """Raises `Misuse` for what no server could make of it."""
        output = wanted_output(file, self.loudness, self.sample_rate, self.bitrate, self.subtitles)
        if self.destination is not None:
            output["destination"] = {"prefix": self.destination}
        return output


@dataclass(frozen=True, slots=True)
class SystemOptions:
    """Which server speaks, or what one of this command's own is like."""

    server: ServerOption = None
    data_dir: DataDirOption = None
    slots: SlotsOption = None
    checkpoint: CheckpointOption = None
    device: DeviceOption = None
