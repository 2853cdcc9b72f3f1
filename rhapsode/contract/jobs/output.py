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
    """By the usual name of the file."""

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
    """Over what loudness is measured and one gain is set."""

    JOB = "job"
    CHAPTER = "chapter"


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
    Field(description="keep the files under these folders of the service's bucket, such as `books/42`"),
    AfterValidator(_folders),
]


class OutputFormat(RequestBody):
    """One file, as players know it, or one for each chapter of the document."""

    type: Choice[AudioFormat]
    files: Choice[Files] = Field(
        default=Files.WHOLE,
        description="`chapters`: a file for each chapter, numbered and named by its title; of a text without any, one",
    )
    bitrate_kbps: int | None = Field(
        default=None,
        ge=1,
        le=320,
        description="of mp3, opus, m4b and aac; absent: 96, of opus 48, or the most that the sample rate allows",
    )


TargetLufs = Annotated[float, Field(ge=-40, le=-8, description="bring the whole to this loudness (EBU R128)")]
TruePeakDb = Annotated[float, Field(ge=-20, le=0)]


class Loudness(RequestBody):
    """One gain brings the integrated loudness (EBU R128) of the job, or of each chapter, to `target_lufs`.

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
    """What the files say of themselves; absent: what the document says, else nothing. WAV has none."""

    title: Tag = Field(default="", exclude_if=_is_empty, description="what the book is called")
    author: Tag = Field(default="", exclude_if=_is_empty, description="who wrote it")
    narrator: Tag = Field(default="", exclude_if=_is_empty, description="who reads it")
    album: Tag = Field(default="", exclude_if=_is_empty, description="what the files belong to; absent: the title")
    genre: Tag = Field(default="", exclude_if=_is_empty, description="a word, such as Fiction")
    date: Tag = Field(default="", exclude_if=_is_empty, description="a year or a day")
    publisher: Tag = Field(default="", exclude_if=_is_empty, description="who publishes it")
    copyright: Tag = Field(default="", exclude_if=_is_empty, description="who has which rights")
    isbn: Isbn = Field(default="", exclude_if=_is_empty, description="the book's number, of 10 or 13 digits")
    language: LanguageTag = Field(
        default="",
        exclude_if=_is_empty,
        description="what is spoken, such as en-GB; absent: the document's, or the job's",
    )
    series: Tag = Field(default="", exclude_if=_is_empty, description="what the book is a part of")
    series_part: Tag = Field(default="", exclude_if=_is_empty, description="which part of the series it is")
    description: Description = Field(default="", exclude_if=_is_empty, description="what it is about")


class Destination(RequestBody):
    """Where the finished files lie in the bucket of the service, for those who may read it: under
    `delivered/TENANT/PREFIX/JOB/`, in a folder of each assembly's own; `key` of an artifact says it all. They are
    downloaded, counted, kept and deleted as ever. `prefix`: folders of lower-case letters, digits, `_`, `-` and `.`,
    that need not exist and that other jobs may name too. A job stays with its destination.
    """

    prefix: Folders


Speed = Annotated[
    float,
    Field(
        ge=0.5,
        le=2,
        description="how much faster than it is spoken, at the same pitch; pauses are shorter in the same proportion",
    ),
]
EdgeSeconds = Annotated[float, Field(ge=0, le=10)]
RoomToneDb = Annotated[float, Field(ge=-90, le=-55)]
Formats = Annotated[
    Listed[OutputFormat],
    Field(min_length=1, max_length=10, description="each type once as a whole and once in chapters"),
]
Subtitles = Annotated[Listed[Choice[SubtitleFormat]], Field(max_length=2)]


class Output(RequestBody):
    """What the audio is delivered as. All formats are made in one pass over the same samples."""

    preset: Choice[OutputPreset] | None = Field(
        default=None,
        description="whose demands the files meet: stands for values of the fields below, where these are left out",
    )
    formats: Formats = (OutputFormat(type=AudioFormat.WAV),)
    sample_rate: SampleRate | None = Field(default=None, description="resample, in Hz; absent: the model's own")
    speed: Speed = 1.0
    loudness: Loudness | None = Field(default=None, description="absent: as the model speaks")
    head_s: EdgeSeconds = Field(
        default=0.0,
        description="seconds before the first word of the whole, and of each chapter where these are files; 0: none",
    )
    tail_s: EdgeSeconds = Field(
        default=0.0,
        description="seconds behind the last word, likewise, in place of the pause there; 0: that pause",
    )
    room_tone_db: RoomToneDb | None = Field(
        default=None,
        description="a very quiet noise under everything, of this level (RMS, dB of full scale), so that no pause is "
        "digital silence; absent: none",
    )
    chapters: Choice[ChapterMarks] = Field(
        default=ChapterMarks.AUTO,
        description="`auto`: marks in every format that has them, from the document's chapters",
    )
    timestamps: Choice[Timestamps] = Field(
        default=Timestamps.OFF,
        description="timestamps.json says when what is heard, down to this level",
    )
    subtitles: Subtitles = ()
    karaoke: bool = Field(default=False, description="subtitles of type `vtt` say when each word is heard")
    tags: Tags = Tags()
    cover: Name | None = Field(
        default=None,
        description="an upload, upl_..., with a JPEG or PNG of up to 8 MiB and 10,000 pixels a side, in place of the "
        "document's own",
    )
    destination: Destination | None = Field(default=None, description="absent: among the job's other objects")


class LoudnessChange(RequestBody):
    """As `Loudness`, of which only what is named changes; null: as it is where nobody says anything."""

    target_lufs: TargetLufs | None = None
    max_true_peak_db: TruePeakDb | None = None
    scope: Choice[LoudnessScope] | None = None


class TagsChange(RequestBody):
    """As `Tags`, of which only what is named changes; null: as it is where nobody says anything."""

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
    """What changes of an output, as a JSON Merge Patch (RFC 7396): a field that is absent stays as the job has it, null
    takes back what was said of it, an object changes what it names, a list takes the place of the old one.
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
