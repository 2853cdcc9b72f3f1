"""How a text is read: what `rhapsode narrate` and `rhapsode plan` say of it in words of their own."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

SpeakerOption = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VOICE", help="Who speaks lines that begin with `NAME:`; may be repeated."),
]
WordsOption = Annotated[
    bool | None,
    typer.Option(
        "--words/--raw", help="Numbers, dates, money and units as words, or as they are; else as the model wants."
    ),
]
DescribeImagesOption = Annotated[
    bool, typer.Option("--describe-images", help="Say what a document's pictures show, where it says so.")
]
IncludeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--include",
        metavar="ID",
        help="Only these chapters of a document, by the ids that `rhapsode plan` shows; may be repeated, or 3,4,5.",
    ),
]
StrictSsmlOption = Annotated[
    bool,
    typer.Option("--strict-ssml", help="Refuse SSML that is not understood, in place of reading what can be read."),
]


def normalization(words: bool | None) -> Literal["off", "basic"] | None:
    return None if words is None else "basic" if words else "off"
