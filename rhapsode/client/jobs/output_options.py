"""What a caller can ask of a job's files; the same names as in the API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypedDict

from pydantic import JsonValue

AudioType = Literal["wav", "flac", "mp3", "opus", "m4b"]

StreamType = Literal["wav", "mp3", "opus"]

STREAM_MEDIA_TYPES: dict[StreamType, str] = {"wav": "audio/wav", "mp3": "audio/mpeg", "opus": "audio/ogg"}


class Format(TypedDict, total=False):
    """bitrate_kbps: of mp3, opus and m4b; left out: 96, 48 and 96."""

    type: AudioType
    bitrate_kbps: int


class Loudness(TypedDict, total=False):
    """Integrated loudness in LUFS, over the job or each chapter, and the highest true peak in dB."""

    target_lufs: float
    max_true_peak_db: float
    scope: Literal["job", "chapter"]


class Tags(TypedDict, total=False):
    """What the files say of themselves."""

    title: str
    author: str
    narrator: str
    album: str
    genre: str
    date: str
    publisher: str
    copyright: str
    description: str


class Destination(TypedDict):
    """Folders of the service's bucket under which the files lie, "books/42"; lower case."""

    prefix: str


class Output(TypedDict, total=False):
    """formats: each type once; all are made in one pass. sample_rate: in Hz. What is left out is the server's default.

    chapters: marks from the document's chapters. timestamps: a file of JSON that says when each segment is heard.
    """

    formats: Sequence[Format]
    sample_rate: int
    loudness: Loudness
    chapters: Literal["auto", "off"]
    timestamps: Literal["segment", "off"]
    subtitles: Sequence[Literal["srt", "vtt"]]
    tags: Tags
    destination: Destination


def plain_json(value: object) -> JsonValue:
    """Mappings and sequences of any kind as the dicts and lists of JSON."""
    match value:
        case Mapping():
            return {str(key): plain_json(entry) for key, entry in value.items()}
        case str() | int() | float() | None:
            return value
        case Sequence():
            return [plain_json(entry) for entry in value]
        case _:
            raise TypeError(f"{type(value).__name__} is nothing that JSON has")
