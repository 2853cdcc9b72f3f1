"""The part of a job that says what its audio is delivered as: the public contract."""

from __future__ import annotations

import enum
import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from rhapsode.contract.base import Choice, Listed, Name, RequestBody, formed
from rhapsode.contract.jobs.presets import OutputPreset
from rhapsode.contract.speakable_text import check_label, check_prose


class AudioFormat(enum.StrEnum):
    """Named like the file."""

    WAV = "wav"
    FLAC = "flac"
    MP3 = "mp3"
    OPUS = "opus"
    M4B = "m4b"
    AAC = "aac"
    """A bare stream of it (ADTS): no tags, no chapters."""


class Files(enum.StrEnum):
    """Whether a format is one file of the whole or one for each chapter."""

    WHOLE = "whole"
    CHAPTERS = "chapters"


class LoudnessScope(enum.StrEnum):
    """Where one gain applies; with `segment`, peaks stay below -1 dB."""

    JOB = "job"
    CHAPTER = "chapter"
    SEGMENT = "segment"


class ChapterMarks(enum.StrEnum):
    """`auto`: the chapters of the document; a text without any has none."""

    AUTO = "auto"
    OFF = "off"


class Timestamps(enum.StrEnum):
    """A file of JSON with the place of every segment, and of what is in it down to this level."""

    SEGMENT = "segment"
    SENTENCE = "sentence"
    WORD = "word"
    CHARACTER = "character"
    OFF = "off"


class SubtitleFormat(enum.StrEnum):
    SRT = "srt"
    VTT = "vtt"


SampleRate = Literal[8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000]
Tag = Annotated[str, Field(max_length=500), AfterValidator(check_label), AfterValidator(str.strip)]

MAX_PREFIX_CHARS = 200
_FOLDER = "[a-z0-9][a-z0-9_.-]*"
_FOLDERS = re.compile(f"{_FOLDER}(/{_FOLDER})*/?")


def _folders(prefix: str) -> str:
    """With the slash at its end. None is called like a job's folder, which is made under it."""
    if re.search("(^|/)job_", prefix):
        raise PydanticCustomError("not_allowed", "no folder may begin with job_, as those of jobs do")
    return prefix if prefix.endswith("/") else f"{prefix}/"


Folders = Annotated[
    str,
    *formed(
        _FOLDERS,
        "folders of lower-case letters, digits, `_`, `-` and `.` with slashes between them, such as books/42",
        max_length=MAX_PREFIX_CHARS,
    ),
    Field(description="folders in the service's bucket, such as `books/42`"),
    AfterValidator(_folders),
]


class OutputFormat(RequestBody):
    """One file, as players know it, or one for each chapter of the document."""

    type: Choice[AudioFormat]
    files: Choice[Files] = Field(default=Files.WHOLE, description="`chapters`: one numbered file for each chapter")
    bitrate_kbps: int | None = Field(
        default=None,
        ge=1,
        le=320,
        description="for mp3, opus, m4b, aac; absent: 96, opus 48, or the sample rate's maximum",
    )


TargetLufs = Annotated[float, Field(ge=-40, le=-8, description="integrated loudness (EBU R128)")]
TruePeakDb = Annotated[float, Field(ge=-20, le=0)]


class Loudness(RequestBody):
    """One gain brings the integrated loudness (EBU R128) of the job, of each chapter, or of each segment to
    `target_lufs`. Before, segments come to one level, each by at most 12 dB; edits of others keep these gains.

    Where the true peak would pass `max_true_peak_db`, a limiter takes off what is too much, and the gain makes up for
    it. If that took more than 6 dB off for more than 1 % of the time, the gain is smaller, and a warning says so.
    """

    target_lufs: TargetLufs = -18
    max_true_peak_db: TruePeakDb = -1.5
    scope: Choice[LoudnessScope] = LoudnessScope.JOB


Description = Annotated[str, Field(max_length=4_000), AfterValidator(check_prose), AfterValidator(str.strip)]


_LANGUAGE = re.compile("([A-Za-z]{2,3}(-[A-Za-z0-9]{1,8}){0,8})?")

LanguageTag = Annotated[str, *formed(_LANGUAGE, "a BCP 47 tag, such as en-GB", max_length=100)]


def _isbn(text: str) -> str:
    """As it was written, hyphens and all, if its check digit is right."""
    digits = text.replace("-", "").replace(" ", "").upper()
    if digits and not (_is_isbn_10(digits) or _is_isbn_13(digits)):
        raise PydanticCustomError("not_an_isbn", "must be an ISBN of 10 or 13 digits with the right check digit")
    return text.strip()


def _is_isbn_10(digits: str) -> bool:
    if not re.fullmatch("[0-9]{9}[0-9X]", digits):
        return False
    values = [10 if digit == "X" else int(digit) for digit in digits]
    return sum((10 - place) * value for place, value in enumerate(values)) % 11 == 0


def _is_isbn_13(digits: str) -> bool:
    if not re.fullmatch("97[89][0-9]{10}", digits):
        return False
    return sum((3 if place % 2 else 1) * int(digit) for place, digit in enumerate(digits)) % 10 == 0


Isbn = Annotated[str, Field(max_length=32), AfterValidator(check_label), AfterValidator(_isbn)]


def _is_empty(tag: str) -> bool:
    return not tag


class Tags(RequestBody):
    """Tags of the files; absent ones come from the document. WAV has none."""

    title: Tag = Field(default="", exclude_if=_is_empty, description="title; absent: the document's")
    author: Tag = Field(default="", exclude_if=_is_empty, description="author")
    narrator: Tag = Field(default="", exclude_if=_is_empty, description="narrator")
    album: Tag = Field(default="", exclude_if=_is_empty, description="album; absent: the title")
    genre: Tag = Field(default="", exclude_if=_is_empty, description="genre")
    date: Tag = Field(default="", exclude_if=_is_empty, description="year or date")
    publisher: Tag = Field(default="", exclude_if=_is_empty, description="publisher")
    copyright: Tag = Field(default="", exclude_if=_is_empty, description="copyright")
    isbn: Isbn = Field(default="", exclude_if=_is_empty, description="10 or 13 digits")
    language: LanguageTag = Field(
        default="", exclude_if=_is_empty, description="such as en-GB; absent: the document's, or the job's"
    )
    series: Tag = Field(default="", exclude_if=_is_empty, description="series")
    series_part: Tag = Field(default="", exclude_if=_is_empty, description="part of the series")
    description: Description = Field(default="", exclude_if=_is_empty, description="summary")


class Destination(RequestBody):
    """Where the finished files are in the service's bucket, for those who may read it: under
    `delivered/TENANT/PREFIX/JOB/`, one folder for each assembly. An artifact's `key` is the full path. Downloads,
    quotas, retention and deletion are unchanged. `prefix`: folders of lower-case letters, digits, `_`, `-` and `.`,
    that need not exist and that other jobs may name too. A job stays with its destination.
    """

    prefix: Folders


MIN_SPEED, MAX_SPEED = 0.5, 2

Speed = Annotated[
    float, Field(ge=MIN_SPEED, le=MAX_SPEED, description="speed factor at constant pitch, pauses included")
]
EdgeSeconds = Annotated[float, Field(ge=0, le=10)]
RoomToneDb = Annotated[float, Field(ge=-90, le=-55)]
Formats = Annotated[
    Listed[OutputFormat], Field(min_length=1, max_length=10, description="each type once whole and once in chapters")
]
Subtitles = Annotated[Listed[Choice[SubtitleFormat]], Field(max_length=2)]


class Output(RequestBody):
    """The delivered files."""

    preset: Choice[OutputPreset] | None = Field(
        default=None, description="a publisher's format, rate, loudness and silence, where you set none"
    )
    formats: Formats = (OutputFormat(type=AudioFormat.WAV),)
    sample_rate: SampleRate | None = Field(default=None, description="in Hz; absent: the model's")
    speed: Speed = 1.0
    loudness: Loudness | None = Field(default=None, description="absent: unchanged; `rhapsode narrate` sends -19 LUFS")
    head_s: EdgeSeconds = Field(default=0.0, description="seconds before the first word of each file")
    tail_s: EdgeSeconds = Field(default=0.0, description="seconds after the last word of each file; 0: the usual pause")
    room_tone_db: RoomToneDb | None = Field(
        default=None, description="background noise level (RMS, dBFS); absent: digital silence"
    )
    chapters: Choice[ChapterMarks] = Field(
        default=ChapterMarks.AUTO, description="chapter marks from the document, in m4b, mp3, flac and opus"
    )
    timestamps: Choice[Timestamps] = Field(default=Timestamps.OFF, description="level of detail of timestamps.json")
    subtitles: Subtitles = ()
    karaoke: bool = Field(default=False, description="word times in `vtt` subtitles")
    tags: Tags = Tags()
    cover: Name | None = Field(
        default=None,
        description="an upload with a JPEG or PNG, at most 8 MiB and 10,000 pixels a side; absent: the document's",
    )
    destination: Destination | None = Field(default=None, description="absent: the job's folder")


class LoudnessChange(RequestBody):
    """Like `Loudness`. Only the given fields change; null restores the default."""

    target_lufs: TargetLufs | None = None
    max_true_peak_db: TruePeakDb | None = None
    scope: Choice[LoudnessScope] | None = None


class TagsChange(RequestBody):
    """Like `Tags`. Only the given fields change; null restores the default."""

    title: Tag | None = None
    author: Tag | None = None
    narrator: Tag | None = None
    album: Tag | None = None
    genre: Tag | None = None
    date: Tag | None = None
    publisher: Tag | None = None
    copyright: Tag | None = None
    isbn: Isbn | None = None
    language: LanguageTag | None = None
    series: Tag | None = None
    series_part: Tag | None = None
    description: Description | None = None


class OutputChange(RequestBody):
    """Changes of an output, as a JSON Merge Patch (RFC 7396). An absent field keeps the job's value, and null removes
    it. An object changes the fields that it names. A list replaces the old list.
    """

    preset: Choice[OutputPreset] | None = Field(
        default=None, description="its values take the place of the job's, but for those named here"
    )
    formats: Formats | None = None
    sample_rate: SampleRate | None = None
    speed: Speed | None = None
    loudness: LoudnessChange | None = None
    head_s: EdgeSeconds | None = None
    tail_s: EdgeSeconds | None = None
    room_tone_db: RoomToneDb | None = None
    chapters: Choice[ChapterMarks] | None = None
    timestamps: Choice[Timestamps] | None = None
    subtitles: Subtitles | None = None
    karaoke: bool | None = None
    tags: TagsChange | None = None
    cover: Name | None = None
    destination: Destination | None = Field(default=None, description="only the one that the job has")
