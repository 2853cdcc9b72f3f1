"""Options of `rhapsode narrate` and `rhapsode plan` for reading a text."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

SpeakerOption = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VOICE", help="The voice for lines that begin with `NAME:`. Repeat it for more names."),
]
CastOption = Annotated[
    Path | None,
    typer.Option("--cast", metavar="FILE", help="Who says each quotation, from `rhapsode cast`."),
]
WordsOption = Annotated[
    bool | None,
    typer.Option(
        "--words/--raw",
        help="Write numbers, dates, money and units as words, or read them as they are. Default: the model's choice.",
    ),
]
DescribeImagesOption = Annotated[
    bool, typer.Option("--describe-images", help="Read the descriptions of a document's pictures.")
]
IncludeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--include",
        metavar="IDS",
        help="Read only these chapters, such as 3-40,42. `rhapsode plan` shows their ids.",
    ),
]
EncodingOption = Annotated[
    str | None,
    typer.Option("--encoding", metavar="NAME", help="Encoding of a text file, such as cp1252. Default: a guess."),
]
StrictSsmlOption = Annotated[
    bool, typer.Option("--strict-ssml", help="Reject SSML that Rhapsode does not support, instead of skipping it.")
]


def normalization(words: bool | None) -> Literal["off", "basic"] | None:
    return None if words is None else "basic" if words else "off"
