"""A narration as it is asked for: the body of `POST /v1/jobs`."""

from __future__ import annotations

import math
import sys
from typing import Annotated, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from rhapsode.contract.base import Choice, Metadata, Name, RefText, RequestBody
from rhapsode.contract.jobs.input import (
    MAX_SEED,
    MAX_SEGMENT_CHARS,
    Dictionaries,
    Instructions,
    JobInput,
    Normalizing,
    SegmentationMode,
    Speakers,
)
from rhapsode.contract.jobs.options import SpeechOptions
from rhapsode.contract.jobs.schedule import Schedule
from rhapsode.contract.jobs.webhook import JobWebhookRequest
from rhapsode.contract.speakable_text import check_label, check_prose
from rhapsode.contract.voices.modes import IfCacheMissing

MAX_EMBEDDING_CHARS = 100_000
MAX_EMBEDDING_VALUES = 16_384


OPENING_CHARS = 90
"""About six seconds of speech, which is all that a live listener waits for."""


class SegmentationRequest(RequestBody):
    """How to cut the text, in characters. `packed` aims at `target_chars`; `min_chars` joins shorter lines with others.
    Values above the model's `max_text_chars` are lowered with a warning.
    """

    mode: Choice[SegmentationMode] | None = None
    target_chars: int = Field(default=220, ge=20, le=MAX_SEGMENT_CHARS)
    max_chars: int = Field(default=400, ge=20, le=MAX_SEGMENT_CHARS)
    min_chars: int = Field(default=0, ge=0, le=200)

    @model_validator(mode="after")
    def _target_fits(self) -> Self:
        if self.target_chars > self.max_chars:
            raise PydanticCustomError("out_of_range", "target_chars must not be larger than max_chars")
        if self.min_chars > self.target_chars:
            raise PydanticCustomError("out_of_range", "min_chars must not be larger than target_chars")
        return self

    @property
    def asked_mode(self) -> SegmentationMode | None:
        """None: as the model wants it."""
        is_packed = self.mode is None and "target_chars" in self.model_fields_set
        return SegmentationMode.PACKED if is_packed else self.mode

    @property
    def asked_chars(self) -> int:
        """The longest that the caller named; 0 for one who left it to us."""
        named = {"target_chars": self.target_chars, "max_chars": self.max_chars}
        return max((chars for name, chars in named.items() if name in self.model_fields_set), default=0)

    @property
    def opening_chars(self) -> int:
        """Of the first segment; 0: who says how long segments are says it of all."""
        is_named = bool({"target_chars", "max_chars"} & self.model_fields_set)
        return 0 if is_named else OPENING_CHARS


def _is_finite_number(value: object) -> bool:
    return (isinstance(value, float) and math.isfinite(value)) or (type(value) is int and abs(value) <= sys.maxsize)


def _text_or_numbers(value: object) -> object:
    """A union of the two would tell of both whatever is wrong with one."""
    match value:
        case str() if len(value) <= MAX_EMBEDDING_CHARS:
            return value
        case list() if len(value) <= MAX_EMBEDDING_VALUES and all(map(_is_finite_number, value)):
            return value
        case str() | list() if len(value) > MAX_EMBEDDING_VALUES:
            raise PydanticCustomError("too_long", "no model has embeddings as large as this")
        case _:
            raise PydanticCustomError("wrong_type", "must be a list of finite numbers, or base64 of an embedding")


Embedding = Annotated[str | list[float], BeforeValidator(_text_or_numbers)]

MAX_REFERENCE_CHARS = 14_100_000
"""A recording of 10 MiB in base64, and what a data URL begins with."""

ReferenceAudio = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_REFERENCE_CHARS,
        description="instead of `voice`: a recording, as an upload's id, a data URL or an https address",
    ),
    AfterValidator(check_label),
]
Consent = Annotated[
    str,
    Field(
        max_length=1_000,
        description="with `ref_audio` or `speaker_embedding`: the speaker's consent; see `RHAPSODE_CONSENT`",
    ),
    AfterValidator(check_prose),
]


class WhatToSpeak(RequestBody):
    """The part of a request that a model's card turns into something else: names, defaults, what is uploaded."""

    input: JobInput
    model: Name | None = Field(default=None, description="a model of the server; absent: its only one")
    voice: Name | None = Field(
        default=None, description="a voice of the model, or your own by name or id; absent: the model's first"
    )
    ref_text: RefText | None = Field(
        default=None,
        description="the words of the voice's recording, or of `ref_audio`",
    )
    x_vector_only: bool = Field(default=False, description="with your voice or `ref_audio`: use its embedding only")
    if_cache_missing: Choice[IfCacheMissing] = Field(
        default=IfCacheMissing.COMPUTE,
        description="if your voice is not ready: build it, wait, or reject the job",
    )
    speaker_embedding: Embedding | None = Field(
        default=None,
        description="instead of `voice`: `speaker_dim` numbers, or base64 of float32 or of an exported voice",
    )
    ref_audio: ReferenceAudio | None = None
    consent: Consent | None = None
    language: Name = Field(default="auto", description="a language of the model, or `auto`")
    instructions: Instructions | None = None
    speakers: Speakers = Field(default={})
    segmentation: SegmentationRequest = SegmentationRequest()
    normalization: Normalizing | None = None
    pronunciation_dictionaries: Dictionaries = Field(default=[])
    seed: int | None = Field(
        default=None,
        ge=0,
        le=MAX_SEED,
        description="the same text and seed give the same speech; absent: random, and shown; Kokoro ignores it",
    )

    @property
    def brings_voice(self) -> bool:
        return self.ref_audio is not None or self.speaker_embedding is not None


class JobRequest(Schedule, SpeechOptions, WhatToSpeak):
    """A narration to make. Only `input` is required; see `/v1/models` for models, voices and languages."""

    metadata: Metadata = Field(default={})
    webhook: JobWebhookRequest | None = None
