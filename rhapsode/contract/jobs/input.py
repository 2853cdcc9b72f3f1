"""What is to be spoken, and how it is divided and read: the input part of a job's request."""

from __future__ import annotations

import enum
import re
from typing import Annotated, Self

from pydantic import AfterValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from rhapsode.contract.base import FIRST_FAULT_ALONE, Choice, Listed, Name, RequestBody, exactly_one, formed
from rhapsode.contract.speakable_text import check_label, check_prose, check_spoken_text

MAX_SEED = 2**53 - 1
"""The largest integer that every JSON reader keeps exact."""

MAX_SEGMENT_CHARS = 1_000
"""More than this no segment may have, whatever a job asks for and a model takes."""

MAX_ENTRIES = 50_000
MAX_SPEAKERS = 64
MAX_LINES = 50_000
MAX_DICTIONARIES = 8
MAX_PAUSE_S = 10.0

_KINDS = ("text", "ssml", "segments", "document")

EntryId = Annotated[str, Field(min_length=1, max_length=128), AfterValidator(check_label)]
Instructions = Annotated[
    str,
    Field(
        max_length=2_000,
        description="how to speak, in your words; for a voice design model: who speaks",
    ),
    AfterValidator(check_prose),
]
_CHAPTER_ID = re.compile("[A-Za-z0-9._-]+")

ChapterId = Annotated[
    str,
    *formed(_CHAPTER_ID, "the id of a chapter, as a plan shows it: letters, digits, `.`, `_` and `-`", max_length=64),
]
_LINE_ID = re.compile("[0-9a-f]{8}(-[0-9]{1,6})?")

LineId = Annotated[str, *formed(_LINE_ID, "the id of a line, as a plan with `find_speakers` shows it", max_length=16)]
DictionaryReference = Annotated[str, Field(min_length=1, max_length=64), AfterValidator(check_label)]


class SourceType(enum.StrEnum):
    TEXT = "text"
    """Plain text in UTF-8; with a cast, lines may begin with a speaker's name and a colon."""

    SSML = "ssml"
    """An SSML document in UTF-8."""

    SEGMENTS = "segments"
    """A list of entries as JSON lines, each with its own text and what it is spoken with."""

    DOCUMENT = "document"
    """A file as it was uploaded."""


class DocumentFormat(enum.StrEnum):
    DOCX = "docx"
    EPUB = "epub"
    HTML = "html"
    MARKDOWN = "md"
    PDF = "pdf"
    TEXT = "txt"


class Images(enum.StrEnum):
    """`alt` speaks the alternative text of pictures."""

    SKIP = "skip"
    ALT = "alt"
    """What its `alt` attribute says."""


class SsmlMode(enum.StrEnum):
    """Whether to reject unsupported SSML, or to read its text."""

    STRICT = "strict"
    """It is refused with its place."""

    LENIENT = "lenient"
    """What can be read is read; the plan and the job's warnings list what was left out."""


class Normalization(enum.StrEnum):
    """What is done to numbers and signs before the model reads them; the plan shows the outcome."""

    OFF = "off"
    """Nothing: the model reads them itself."""

    BASIC = "basic"
    """Numbers, dates, money and units become words, in the languages that have rules."""


class Emoji(enum.StrEnum):
    """What is said of emoji where English is read by `normalization: basic`."""

    DROPPED = "dropped"
    NAMED = "named"
    """Their names: party popper."""


class SegmentationMode(enum.StrEnum):
    """`sentence` speaks each sentence alone; `packed` joins them."""

    SENTENCE = "sentence"
    """Every sentence by itself, so that all of them have the pause asked for."""

    PACKED = "packed"
    """Sentences of a paragraph together, towards `target_chars`; between them the model pauses as it reads."""


EntrySpeed = Annotated[float, Field(ge=0.5, le=2, description="speed factor, on top of `output.speed`")]
EntryGain = Annotated[float, Field(ge=-40, le=12, description="gain in the files, in dB")]


class InnerPauses(enum.StrEnum):
    """Pauses between sentences that are spoken in one piece."""

    SPOKEN = "spoken"
    """As the model makes them."""

    ASKED = "asked"
    """As long as `sentence_s`, in English, where a silence is found at the end of a sentence."""


class SegmentInput(RequestBody):
    """One entry of a list; absent fields are the job's."""

    text: Annotated[str, AfterValidator(check_spoken_text)]
    id: EntryId | None = None
    voice: Name | None = Field(default=None, description="a voice of the model, or your own by name or id")
    speaker: Name | None = Field(default=None, description="a name of `speakers`, instead of `voice`")
    language: Name | None = None
    instructions: Instructions | None = None
    seed: int | None = Field(default=None, ge=0, le=MAX_SEED)
    pause_after_s: float | None = Field(default=None, ge=0, le=MAX_PAUSE_S)
    speed: EntrySpeed = 1.0
    gain_db: EntryGain = 0.0

    @model_validator(mode="after")
    def _one_voice(self) -> Self:
        if self.voice is not None and self.speaker is not None:
            raise PydanticCustomError("not_allowed", "`voice` and `speaker` say the same; give one")
        return self


class DocumentInput(RequestBody):
    """A file of `/v1/uploads`. `include`: chapter ids from a plan; absent: all."""

    upload_id: Name
    format: Choice[DocumentFormat]
    include: Listed[ChapterId] = Field(default=(), max_length=1_000)
    images: Choice[Images] = Images.SKIP


class JobInput(RequestBody):
    """Exactly one of `text`, `ssml`, `segments`, `document`."""

    model_config = ConfigDict(
        json_schema_extra=exactly_one(text="string", ssml="string", segments="array", document="object")
    )

    text: Annotated[str, AfterValidator(check_spoken_text)] | None = None
    ssml: Annotated[str, AfterValidator(check_prose)] | None = Field(
        default=None, description="an SSML document; `/v1/capabilities` lists its elements"
    )
    ssml_mode: Choice[SsmlMode] = SsmlMode.STRICT
    segments: list[SegmentInput] | None = Field(
        default=None, min_length=1, max_length=MAX_ENTRIES, fail_fast=FIRST_FAULT_ALONE
    )
    document: DocumentInput | None = None
    find_speakers: bool = Field(
        default=False, description="with `validate_only`: the plan proposes who says each quotation of English prose"
    )
    lines: dict[Name, Annotated[list[LineId], Field(max_length=MAX_LINES)]] = Field(
        default={},
        max_length=MAX_SPEAKERS,
        description="who says what: names of `speakers` with ids of quotations, from a plan with `find_speakers`",
    )

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        given = [kind for kind in _KINDS if getattr(self, kind) is not None]
        if not given:
            raise PydanticCustomError("missing", "one of `text`, `ssml`, `segments` and `document` is required")
        if self.ssml is None and "ssml_mode" in self.model_fields_set:
            raise PydanticCustomError("not_allowed", "`ssml_mode` says how `ssml` is read, which is not there")
        if len(given) > 1:
            raise PydanticCustomError("not_allowed", "only one of `text`, `ssml`, `segments` and `document` is allowed")
        if (self.lines or self.find_speakers) and given[0] in {"ssml", "segments"}:
            raise PydanticCustomError(
                "not_allowed", "only `text` and `document` have lines; others name their speakers"
            )
        return self


Seconds = Annotated[float, Field(ge=0, le=MAX_PAUSE_S)]


class Pauses(RequestBody):
    """Seconds of silence; where several apply, the longest."""

    sentence_s: Seconds = Field(default=0.45, description="silence after the last sentence of a segment")
    paragraph_s: Seconds = Field(default=0.8, description="silence after a paragraph")
    heading_s: Seconds = Field(default=0.9, description="silence after a heading")
    chapter_s: Seconds = Field(default=2.0, description="minimum silence before a chapter")
    line_s: Seconds = Field(default=0.35, description="silence after a line of verse, `<br>` or a hard break")
    cut_s: Seconds = Field(default=0.12, description="silence where a sentence is cut, or its voice changes")
    inside: Choice[InnerPauses] = Field(
        default=InnerPauses.SPOKEN,
        description="inside packed segments: `asked` stretches English sentence ends to `sentence_s`",
    )


Speakers = Annotated[
    dict[Name, Name],
    Field(
        max_length=MAX_SPEAKERS,
        description="a cast: name to voice, for lines `NAME: text`, segments and <voice> of SSML",
    ),
]
Normalizing = Annotated[
    Choice[Normalization],
    Field(description="`basic`: numbers and units as words; absent: for named English, else the model's choice"),
]
Dictionaries = Annotated[
    list[DictionaryReference],
    Field(max_length=MAX_DICTIONARIES, description="`pd_…@3`, or `pd_…` for the newest version"),
]
ValidateOnly = Annotated[bool, Field(description="only plan; the answer is the plan if that takes less than 30 s")]


class NarrationInput(RequestBody):
    """What the stored input is. `format` and `images` are of a document, `ssml_mode` of SSML; null for all else.
    `include`: chapters, empty for all.

    `first_words`: how the text begins, on one line; empty until it is planned. `has_lines`: the request says who says
    quotations.
    """

    type: Choice[SourceType] = SourceType.TEXT
    format: Choice[DocumentFormat] | None = None
    include: Listed[ChapterId] = ()
    images: Choice[Images] | None = None
    ssml_mode: Choice[SsmlMode] | None = None
    find_speakers: bool = False
    has_lines: bool = False
    first_words: str = ""
