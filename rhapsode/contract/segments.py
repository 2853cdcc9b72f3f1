"""The segments of a job and their takes: the public contract."""

from __future__ import annotations

import enum
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from rhapsode.contract.base import Answer, Id, Name, RequestBody
from rhapsode.contract.jobs.input import MAX_SEED, MAX_SEGMENT_CHARS, Instructions
from rhapsode.contract.pronunciations import Rule
from rhapsode.contract.speakable_text import check_label, text_or_nothing

MOST_CHANGED = 1_000
"""Segments of one call: as many as a list has at once. The state database works about 0.1 ms on each."""

TakeNumber = Annotated[int, Field(ge=1, le=1_000_000)]


class SegmentState(enum.StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class SegmentChange(RequestBody):
    """What is said of one segment from now on; what is absent stays. The segment is generated again if anything
    changes.
    """

    text: Annotated[str, Field(max_length=MAX_SEGMENT_CHARS), AfterValidator(text_or_nothing)] | None = Field(
        default=None, description='what it says from now on; "" leaves it out'
    )
    voice: Name | None = Field(default=None, description="a voice of the model, or one of yours by name or id")
    speaker: Annotated[str, Field(max_length=200), AfterValidator(check_label)] | None = Field(
        default=None, description="a name of the job's cast; \"\" is the job's own voice"
    )
    language: Name | None = Field(default=None, description="a language of the model, or `auto`")
    instructions: Instructions | None = None
    seed: int | None = Field(default=None, ge=0, le=MAX_SEED, description="of the first attempt, exactly as it is")

    @model_validator(mode="after")
    def _says_something_once(self) -> Self:
        if not self.model_fields_set:
            raise PydanticCustomError("missing", "nothing is said that could be changed")
        if self.voice is not None and self.speaker is not None:
            raise PydanticCustomError("not_allowed", "`voice` and `speaker` say the same; give one")
        return self


class SegmentsChange(RequestBody):
    """Give one: another voice for many segments, an earlier take of each, or how words in them are said."""

    segments: list[Id] = Field(min_length=1, max_length=MOST_CHANGED, description="their ids")
    voice: Name | None = Field(default=None, description="a voice of the model, or one of yours by name or id")
    takes: list[TakeNumber] | None = Field(
        default=None, max_length=MOST_CHANGED, description="the take to put in place, of each of `segments`"
    )
    pronunciations: list[Rule] | None = Field(
        default=None, min_length=1, max_length=16, description="how words are said; the written text stays as it is"
    )

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if [self.voice, self.takes, self.pronunciations].count(None) != 2:
            raise PydanticCustomError("not_allowed", "give one of `voice`, `takes` and `pronunciations`")
        if self.takes is not None and len(self.takes) != len(self.segments):
            raise PydanticCustomError("not_allowed", "`takes` has one number for each of `segments`")
        return self


class SentenceChange(RequestBody):
    """What one sentence says from now on, its neighbours as before. Their passage is generated again."""

    text: Annotated[str, Field(max_length=MAX_SEGMENT_CHARS), AfterValidator(text_or_nothing)] = Field(
        description='as people write it, read as the rest of the job; "" leaves the sentence out'
    )


class TakeOrder(RequestBody):
    """Another take. `seed`: absent, it follows from the job's seed and the number of the take."""

    seed: int | None = Field(default=None, ge=0, le=MAX_SEED)


class SegmentLinks(Answer):
    self_: str = Field(validation_alias="self", serialization_alias="self")
    takes: str
    audio: str | None = Field(description="WAV of the take in place; null while there is none")


class TriedAttempt(Answer):
    """One attempt at a segment. `attempt`: from 1, over all runs of the job.

    `temperature`: at which codes were drawn; 0 took the most likely ones. `parts`: 2 where the text was spoken in two
    halves. `findings`: names of what was found, empty for the attempt that passed; `reasons`: the same in plain words.
    `audio`: of an attempt at a segment that failed, WAV to hear why.
    """

    attempt: int
    seed: int
    temperature: float
    parts: int
    findings: tuple[str, ...]
    reasons: tuple[str, ...]
    checks: dict[str, float]
    audio: str | None = None


class Sentence(Answer):
    """A sentence of a segment, or as much of one as the segment has.

    `text`: as written; `spoken`: the spoken text.
    `start_s`, `duration_s`: its place in the narration; null before the end of its segment, and in a segment of several
    sentences. `timestamps.json` has all times.
    """

    id: Id
    text: str
    spoken: str
    start_s: float | None
    duration_s: float | None


class Respelling(Answer):
    """`grapheme` is spoken as `alias` in the segment."""

    grapheme: str
    alias: str
    case_sensitive: bool


class Segment(Answer):
    """One stretch of a narration. Fields of its audio are null while it is not done.

    `text`: what is spoken; `written`: the same as people write it, such as "FBI" for "eff bee eye"; `sentences`: the
    same, one by one. `source_id`: what the request calls the entry it was made
    from. `chapter`: index into the plan's chapters. `take`: the one in place or being made; `takes`: how many there
    are. `attempts`: number of attempts at this take, 0 if it was reused. `start_s`: its place in the narration; null
    until all earlier segments are done. `findings`: what the quality gate found and could not cure; `flagged`: whether
    there is any; of a segment that failed, what was found in the attempt with `seed_used`, the least bad. `checks`:
    what was measured, by name; `tried`: every attempt; both null in lists. `guessed`: up to 16 words whose sound the
    engine guessed from their spelling; empty as well where the engine does not know. `pronunciations`: how
    its user has words of it said.
    """

    id: Id
    object: Literal["segment"] = "segment"
    index: int
    source_id: str
    chapter: int
    text: str
    written: str
    sentences: tuple[Sentence, ...]
    edited: bool
    speaker: str
    voice: str
    language: str
    instructions: str
    state: SegmentState
    take: int
    takes: int
    attempts: int | None
    seed_used: int | None
    finish_reason: str | None
    start_s: float | None
    duration_s: float | None
    pause_after_s: float
    chars_per_s: float | None
    loudness_lufs: float | None
    checks: dict[str, float] | None = None
    findings: tuple[str, ...]
    tried: tuple[TriedAttempt, ...] | None = None
    flagged: bool
    guessed: tuple[str, ...] = ()
    pronunciations: tuple[Respelling, ...] = ()
    reused: bool
    sha256: str | None
    links: SegmentLinks


class SegmentList(Answer):
    data: tuple[Segment, ...]
    next_cursor: str | None
    has_more: bool


class Take(Answer):
    """A finished version of a segment. `selected`: whether the narration has this one."""

    take: int
    object: Literal["take"] = "take"
    selected: bool
    text: str
    speaker: str
    voice: str
    language: str
    instructions: str
    seed_used: int
    attempts: int
    finish_reason: str
    duration_s: float | None
    findings: tuple[str, ...]
    flagged: bool
    sha256: str
    audio: str


class TakeList(Answer):
    data: tuple[Take, ...]
