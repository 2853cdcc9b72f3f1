"""A job as the API answers with it."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from rhapsode.contract.base import Answer, FileName, Id
from rhapsode.contract.jobs.failure import JobProblem
from rhapsode.contract.jobs.narration import ShownNarration
from rhapsode.contract.jobs.quality import JobQuality, JobWarning
from rhapsode.contract.jobs.states import JobClass, JobPhase, JobState, Priority
from rhapsode.contract.jobs.webhook import JobReceiver


class Queue(Answer):
    """Where the job stands among the others of its model.

    `position`: jobs that are served before it where it waits now, 0 once it is at work, null while it is paused
    or waits for its `not_before`.
    `ahead_audio_s`: expected audio of the work of its class that came before it. `pace`: seconds of audio that all
    workers of its model speak in a second, as measured lately; null while nothing was measured. `has_worker`: whether a
    worker of its model is there; without one the job waits.
    """

    job_class: JobClass = Field(validation_alias="class", serialization_alias="class")
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
    """`fraction`: segments done of all. `eta_s`: seconds until the end of speech; null while it is unknown: before the
    first segment, if its workers generated no or few segments lately.

    `eta_basis`: `fleet_rate` is the job's share of the measured pace of its model's workers; `job_rate` is the
    job's pace since its start, if no other pace is known.
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

    Of type `chapters`: a list of the format's files, `files` of them, of `files_bytes` together; they are in
    `links.artifacts`, behind the others. `chapter` and `title`: of such a file, the first is 1.
    """

    name: FileName
    type: str
    bytes: int
    sha256: str
    duration_s: float | None
    files: int | None
    files_bytes: int | None
    chapter: int | None
    title: str | None
    key: str | None
    url: str
    url_expires_at: datetime


class ShownVoiceCaches(Answer):
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

    self_: str = Field(validation_alias="self", serialization_alias="self")
    events: str
    segments: str
    audio: str
    cancel: str
    artifacts: str


class Job(Answer):
    id: Id
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
    request: ShownNarration | ShownVoiceCaches
    artifacts: tuple[Artifact, ...]
    quality: JobQuality | None = Field(description="null for a job of kind `voice_cache`")
    usage: Usage
    engine: SpokenWith
    warnings: tuple[JobWarning, ...]
    error: JobProblem | None
    metadata: dict[str, str]
    batch_id: Id | None
    webhook: JobReceiver | None = Field(description="the receiver in the job's request")
    links: Links


class JobList(Answer):
    data: tuple[Job, ...]
    next_cursor: str | None
    has_more: bool


class ArtifactList(Answer):
    data: tuple[Artifact, ...]
    next_cursor: str | None
    has_more: bool
