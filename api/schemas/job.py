"""The bodies of requests and answers: the public contract."""

from __future__ import annotations

import math
import sys
from datetime import datetime
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from api.schemas.base import Answer, DateTime, MetadataKey, MetadataValue, Name, RefText, RequestBody
from api.schemas.failure import JobProblem
from api.schemas.input import (
    MAX_SEED,
    Dictionaries,
    Instructions,
    JobInput,
    Normalizing,
    PausesRequest,
    ResolvedInput,
    ResolvedPauses,
    Speakers,
    ValidateOnly,
)
from api.schemas.job_webhook import JobReceiver, JobWebhookRequest
from api.schemas.output import OutputRequest, ResolvedOutput
from api.schemas.quality import JobQuality, JobWarning, QualityRequest, ResolvedQuality
from api.schemas.speakable_text import check_prose
from storage.jobs.service_classes import JobClass, Priority
from storage.jobs.states import JobPhase, JobState
from storage.narration.spec import MAX_SEGMENT_CHARS

MIN_TEMPERATURE = 0.001
"""Logits divided by less leave the range of 32-bit floats, so that engines refuse it; 0 means no drawing at all."""

MAX_METADATA_PAIRS = 16
MAX_EMBEDDING_CHARS = 100_000
MAX_EMBEDDING_VALUES = 16_384
DAY_S = 24 * 3600


def _zero_or_drawable(temperature: float) -> float:
    if 0 < temperature < MIN_TEMPERATURE:
        raise PydanticCustomError("out_of_range", "must be 0 or at least {least}", {"least": MIN_TEMPERATURE})
    return temperature


MIN_CHARS = 16
"""About a second of speech. Models that read sentences make noise of less."""


OPENING_CHARS = 90
"""About six seconds of speech, which is all that somebody who listens at once has to wait for."""


class SegmentationRequest(RequestBody):
    """How the text is cut, in characters; `max_chars` bounds what `target_chars` aims at. Unless `target_chars` is
    named, the first segment of a text or document is about 90 characters long, so that listening begins at once.

    min_chars: a sentence or paragraph below it is spoken with a neighbour of the same voice, whose pause it takes over;
    0 leaves each alone. By default 16, and never more than a quarter of `target_chars`. What is above the model's
    `max_text_chars` is lowered to it, with the warning `segments_shortened` where it was asked for.
    """

    mode: Literal["sentence"] = "sentence"
    target_chars: int = Field(default=220, ge=20, le=MAX_SEGMENT_CHARS)
    max_chars: int = Field(default=400, ge=20, le=MAX_SEGMENT_CHARS)
    min_chars: int | None = Field(default=None, ge=0, le=200)

    @model_validator(mode="after")
    def _target_fits(self) -> Self:
        if self.target_chars > self.max_chars:
            raise PydanticCustomError("out_of_range", "target_chars must not be larger than max_chars")
        if self.min_chars is not None and self.min_chars > self.target_chars:
            raise PydanticCustomError("out_of_range", "min_chars must not be larger than target_chars")
        return self

    @property
    def asked_chars(self) -> int:
        """The longest that the caller named; 0 for one who left it to us."""
        named = {"target_chars": self.target_chars, "max_chars": self.max_chars}
        return max((chars for name, chars in named.items() if name in self.model_fields_set), default=0)

    @property
    def least_chars(self) -> int:
        """`min_chars`, or what stands for it."""
        return min(MIN_CHARS, self.target_chars // 4) if self.min_chars is None else self.min_chars

    @property
    def opening_chars(self) -> int:
        """Of the first segment; 0: who says how long segments are says it of all."""
        is_named = bool({"target_chars", "max_chars"} & self.model_fields_set)
        return 0 if is_named else OPENING_CHARS


class SamplingRequest(RequestBody):
    """What is absent stays as the checkpoint has it. Temperature 0 always takes the likeliest code."""

    temperature: Annotated[float, Field(ge=0, le=2), AfterValidator(_zero_or_drawable)] | None = None
    top_p: float | None = Field(default=None, gt=0, le=1)
    top_k: int | None = Field(default=None, ge=1, le=1000)
    repetition_penalty: float | None = Field(default=None, ge=1, le=2)


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


class JobRequest(RequestBody):
    """A narration to make. Only `input` is required; see `/v1/models` for models, voices and languages."""

    input: JobInput
    model: Name | None = None
    voice: Name | None = Field(default=None, description="one of the model's, or one of yours by name or id")
    ref_text: RefText | None = Field(
        default=None, description="with a voice of yours: what its recording says, in place of what is known of it"
    )
    x_vector_only: bool = Field(default=False, description="with a voice of yours: speak from its embedding alone")
    if_cache_missing: Literal["compute", "wait", "fail"] = Field(
        default="compute",
        description="with a voice of yours that is not ready: build it on the way, wait for it, or refuse the job",
    )
    speaker_embedding: Embedding | None = Field(
        default=None,
        description="in place of `voice`: a list of `speaker_dim` numbers, or base64 of so many float32 "
        "(little-endian) or of an exported voice",
    )
    consent: Annotated[str, Field(max_length=1_000), AfterValidator(check_prose)] | None = Field(
        default=None,
        description="with `speaker_embedding`: the statement that the speaker agrees, or a consent's id",
    )
    language: Name = "auto"
    instructions: Instructions | None = None
    speakers: Speakers = Field(default={})
    segmentation: SegmentationRequest = SegmentationRequest()
    pauses: PausesRequest = PausesRequest()
    normalization: Normalizing | None = None
    pronunciation_dictionaries: Dictionaries = Field(default=[])
    sampling: SamplingRequest = SamplingRequest()
    seed: int | None = Field(default=None, ge=0, le=MAX_SEED, description="absent: drawn at random and told in the job")
    reproducibility: Literal["best_effort", "strict"] = Field(
        default="best_effort",
        description="`strict`: equal requests give equal speech, whatever else the workers speak at the time",
    )
    reuse: bool = Field(
        default=True, description="`false`: every segment is spoken, also one that an earlier job of yours has spoken"
    )
    quality: QualityRequest = QualityRequest()
    output: OutputRequest = OutputRequest()
    priority: Literal["high", "normal", "low"] = "normal"
    not_before: DateTime | None = Field(
        default=None, description="nothing of the job is done before this time, 90 days away at most"
    )
    deadline: DateTime | None = None
    retention_s: int = Field(default=7 * DAY_S, ge=60, le=90 * DAY_S)
    metadata: dict[MetadataKey, MetadataValue] = Field(default={}, max_length=MAX_METADATA_PAIRS)
    webhook: JobWebhookRequest | None = None
    validate_only: ValidateOnly = False


class Queue(Answer):
    """Where the job stands among the others of its model.

    `position`: jobs that are served before it where it waits now, 0 once it is at work, null while it is paused
    or waits for its `not_before`.
    `ahead_audio_s`: expected audio of the work of its class that came before it. `pace`: seconds of audio that all
    workers of its model speak in a second, as measured lately; null while nothing was measured. `has_worker`: whether a
    worker of its model is there; without one the job waits.
    """

    job_class: JobClass = Field(serialization_alias="class")
    position: int | None
    ahead_audio_s: float
    pace: float | None
    has_worker: bool


class SegmentProgress(Answer):
    """`total` is 0 until the text is planned. In a job of kind `voice_cache` these are voices.

    `reused`: of those done, copied from an earlier job of yours with the same content. `flagged`: of those done, kept
    although they did not pass the quality gate.
    """

    total: int
    done: int
    running: int
    failed: int
    reused: int
    flagged: int


class Progress(Answer):
    """`fraction`: segments done of all. `eta_s`: seconds until all is spoken, null while nobody can know.

    `eta_basis`: `fleet_rate` is the measured pace of the workers of its model, of which it gets its share among the
    jobs that wait; `job_rate` is the job's own pace since it began, where no other is known.
    """

    fraction: float
    eta_s: float | None
    eta_basis: Literal["fleet_rate", "job_rate"] | None
    segments: SegmentProgress
    chars_done: int
    audio_s_done: float


class Artifact(Answer):
    """A finished output. `url` needs no credentials until `url_expires_at`. `key`: where it lies in the bucket of the
    service, if the job has a destination there.
    """

    name: str
    type: str
    bytes: int
    sha256: str
    duration_s: float | None
    key: str | None
    url: str
    url_expires_at: datetime


class ResolvedSegmentation(Answer):
    mode: Literal["sentence"] = "sentence"
    target_chars: int
    max_chars: int
    min_chars: int


class ResolvedSampling(Answer):
    """null: as the checkpoint has it."""

    temperature: float | None
    top_p: float | None
    top_k: int | None
    repetition_penalty: float | None


class ResolvedVoice(Answer):
    """An uploaded voice as it was when the job was accepted. `id`: null for an embedding that came with the request."""

    id: str | None
    revision: int
    mode: Literal["x_vector", "in_context"]
    ref_text: str
    if_cache_missing: Literal["compute", "wait", "fail"]


class ResolvedRequest(Answer):
    """What was asked for with every default filled in. `own_voice`: null when the voice is one of the model's."""

    model: str
    voice: str
    own_voice: ResolvedVoice | None
    language: str
    instructions: str
    seed: int
    input: ResolvedInput
    speakers: dict[str, str]
    segmentation: ResolvedSegmentation
    pauses: ResolvedPauses
    normalization: str
    pronunciation_dictionaries: list[str]
    validate_only: bool
    sampling: ResolvedSampling
    reproducibility: str
    reuse: bool
    quality: ResolvedQuality
    output: ResolvedOutput
    priority: Priority
    not_before: datetime | None
    deadline: datetime | None
    retention_s: int


class ResolvedVoiceCaches(Answer):
    """What a job of kind `voice_cache` does: makes so many voices ready for a model; `force`: also those that are."""

    model: str
    voices: int
    force: bool
    priority: Priority
    deadline: datetime | None
    retention_s: int


class Usage(Answer):
    """`engine_s`: seconds that the segments spent in the engine; they overlap. `cached_audio_s`: of `audio_s`, what was
    reused and asked of no engine.
    """

    input_chars: int
    audio_s: float
    cached_audio_s: float
    engine_s: float
    retries: int


class SpokenWith(Answer):
    """What spoke the job: null until it has succeeded, and where its segments differ, which the manifest tells apart.

    `model_revision`: digest of the checkpoint. `voice_cache`: `content` of your voice's cache, null for a voice of the
    model's. `config_sha256`: of how the engine was set up; equal ones speak equal requests alike in `strict` jobs.
    """

    model: str
    model_revision: str | None
    voice_cache: str | None
    config_sha256: str | None


class Links(Answer):
    """`audio`: plays the job from now on, finished or not."""

    self_: str = Field(serialization_alias="self")
    events: str
    segments: str
    audio: str
    cancel: str
    artifacts: str


class Job(Answer):
    id: str
    object: Literal["job"] = "job"
    kind: Literal["synthesis", "voice_cache"]
    state: JobState
    phase: JobPhase | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    expires_at: datetime | None
    queue: Queue | None
    progress: Progress
    request: ResolvedRequest | ResolvedVoiceCaches
    artifacts: list[Artifact]
    quality: JobQuality | None = Field(description="null for a job of kind `voice_cache`")
    usage: Usage
    engine: SpokenWith
    warnings: list[JobWarning]
    error: JobProblem | None
    metadata: dict[str, str]
    batch_id: str | None
    webhook: JobReceiver | None = Field(description="whom the job itself named to be told")
    links: Links


class JobList(Answer):
    data: list[Job]
    next_cursor: str | None
    has_more: bool


class ArtifactList(Answer):
    data: list[Artifact]


class Model(Answer):
    """A model that a worker serves or served; `seen_at` is when one last said so.

    `voice_modes`: how it speaks with voices that were uploaded ("x_vector", "in_context"); empty: not at all.
    `recognised_languages`: what its workers can read back, for the quality gate `asr`.
    `speaker_dim`: numbers of a speaker embedding.
    `max_text_chars`: the longest text that it was made for; no segment is longer, whatever `segmentation` says.
    `text_front_end`: `words` where `normalization` is `basic` unless a job says `off`: it learned numbers as words.
    `reproducibility`: what jobs may ask for; `strict` where a worker is there that can see to it.
    `available`: false while workers serve other models and none serves this one.
    `id` is the name and `created` is `seen_at` in Unix seconds: so OpenAI's clients list models.
    """

    id: str
    name: str
    object: Literal["model"] = "model"
    created: int
    owned_by: Literal["rhapsode"] = "rhapsode"
    revision: str
    task: str
    speakers: list[str]
    languages: list[str]
    default_language: str | None
    sample_rate_hz: int
    samples_per_frame: int
    num_codebooks: int
    max_text_tokens: int
    max_text_chars: int
    text_front_end: Literal["words", "raw"]
    accepts_instructions: bool
    speaker_dim: int
    reproducibility: list[Literal["best_effort", "strict"]]
    voice_modes: list[str]
    recognised_languages: list[str]
    notice: str
    available: bool
    seen_at: datetime


class ModelList(Answer):
    object: Literal["list"] = "list"
    data: list[Model]


class EventProgress(Answer):
    fraction: float
    segments_total: int
    segments_done: int
    chars_done: int
    audio_s_done: float


class EventJob(Answer):
    """A job as far as an event tells of it."""

    id: str
    state: JobState
    phase: JobPhase | None
    progress: EventProgress


class EventLinks(Answer):
    self_: str = Field(serialization_alias="self")


class EventData(Answer):
    """`detail` holds what only this type of event says."""

    job: EventJob
    detail: dict[str, str | int | float | None]
    links: EventLinks


class Event(Answer):
    type: str
    timestamp: datetime
    data: EventData


class Health(Answer):
    status: Literal["alive"] = "alive"


class Readiness(Answer):
    """`models`: names of the announced models; an empty list says that no worker ever came. `claims`: `held` while no
    worker is given anything, because Redis lost something; null if Redis does not answer. `threads`: `busy` if requests
    wait a second or longer for one of this process's threads."""

    status: Literal["ready", "unavailable"]
    redis: Literal["ok", "unavailable"]
    store: Literal["ok", "unavailable"]
    threads: Literal["ok", "busy"]
    models: list[str] | None
    claims: Literal["open", "held"] | None


class ProblemDetail(Answer):
    code: str
    detail: str
    pointer: str | None = None
    parameter: str | None = None
    header: str | None = None


class ProblemDocument(Answer):
    """RFC 9457, for every answer of 400 and above."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    code: str
    request_id: str
    retryable: bool
    errors: list[ProblemDetail]
