"""The job record and its parts. Pure: nothing here talks to Redis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Discriminator, Tag

from reading.drafting.warnings import TextWarning
from rhapsode.contract.jobs.states import JobClass, JobPhase, JobState, Priority
from storage.ids import JobId, TenantId, WorkQueue
from storage.jobs.batches import BatchSpec
from storage.jobs.webhook_target import WebhookTarget
from storage.jobs.work_queues import CPU_QUEUE, speech_queue
from storage.narration.spec import NarrationSpec
from storage.narration.voice_reference import VoiceCacheSpec
from storage.segments.tried import Rejection

KEPT_DAYS = 400
"""A day's counts are there for so long after its first: a year and a month, enough to bill by the year."""


def _spec_kind(value: object) -> str:
    """Specs carry no tag: those of before there were two kinds have none either."""
    fields: Mapping[str, object] = value if isinstance(value, Mapping) else {}
    if isinstance(value, BatchSpec) or "num_lines" in fields:
        return "batch"
    return "voice_cache" if isinstance(value, VoiceCacheSpec) or "num_voices" in fields else "narration"


JobSpec = Annotated[
    Annotated[NarrationSpec, Tag("narration")]
    | Annotated[VoiceCacheSpec, Tag("voice_cache")]
    | Annotated[BatchSpec, Tag("batch")],
    Discriminator(_spec_kind),
]
"""What a job makes: speech from a text or caches of voices, both by one model; a batch makes jobs."""


@dataclass(frozen=True, slots=True)
class SegmentCounts:
    """Of those done, `reused` were copied from an earlier job and `flagged` kept although they did not pass."""

    total: int = 0
    done: int = 0
    running: int = 0
    failed: int = 0
    reused: int = 0
    flagged: int = 0


@dataclass(frozen=True, slots=True)
class ChildCounts:
    """Jobs of a batch that have ended, and how; those that go on afterwards are not counted again."""

    succeeded: int = 0
    failed: int = 0
    cancelled: int = 0
    expired: int = 0

    @property
    def ended(self) -> int:
        return self.succeeded + self.failed + self.cancelled + self.expired


@dataclass(frozen=True, slots=True)
class ArtifactRecord:
    """One finished output of a job. `name` is what the API calls it, `key` where the store keeps it.

    speech: digest of what it was made of; equal ones are files of the same segments with the same pauses.
    listed, listed_bytes: files of chapters that this one lists, which are no artifacts of the record themselves.
    """

    name: str
    type: str
    key: str
    bytes: int
    sha256: str
    duration_s: float | None = None
    speech: str = ""
    listed: int = 0
    listed_bytes: int = 0


@dataclass(frozen=True, slots=True)
class SpokenBy:
    """What spoke a finished job, where all of its segments agree on it; None where they do not.

    model_revision: digest of the checkpoint. voice_cache: content of the own voice's cache, None for a voice of the
    model's. config_sha256: of how the engine was set up.
    """

    model_revision: str | None = None
    voice_cache: str | None = None
    config_sha256: str | None = None


@dataclass(frozen=True, slots=True)
class JobError:
    """Why a job failed; `code` is one of the public contract's.

    Not part of the job's record: rejected_attempts, attempts at a segment of which none passed the quality gate;
    and rejection, what these were.
    """

    code: str
    detail: str
    segment: int | None = None
    rejected_attempts: int = 0
    rejection: Rejection | None = None


@dataclass(frozen=True, slots=True)
class JobRecord:
    """A job as Redis holds it. Times are Unix milliseconds of the Redis server.

    not_before_ms: when it may start; is_scheduled: that time has not come.
    run: times it was reopened after it had ended; started_at_ms and deadline_ms are of this run. done_at_reopen:
    segments that were done when it began. out_audio_ms: of estimated_audio_ms, what needs no speaking any more.
    retries: items that went back after an error. rerolls: attempts that the quality gate sent back. samples_reused:
    of samples_done, those that no engine was asked for. warnings: the first 100. first_words: of the text, once it was
    planned. plan_key: where the plan lies in the store; plan_document: the plan itself, of a whole job.
    """

    id: JobId
    tenant: TenantId
    state: JobState
    phase: JobPhase | None
    version: int
    job_class: JobClass
    priority: Priority
    spec: JobSpec
    input_key: str
    input_chars: int
    created_at_ms: int
    retention_s: int
    estimated_audio_ms: int
    plan_key: str | None = None
    started_at_ms: int | None = None
    finished_at_ms: int | None = None
    expires_at_ms: int | None = None
    deadline_ms: int | None = None
    not_before_ms: int | None = None
    is_scheduled: bool = False
    segments: SegmentCounts = field(default_factory=SegmentCounts)
    retries: int = 0
    rerolls: int = 0
    chars_done: int = 0
    samples_done: int = 0
    samples_reused: int = 0
    sample_rate_hz: int = 0
    engine_ms: int = 0
    artifacts: tuple[ArtifactRecord, ...] = ()
    warnings: tuple[TextWarning, ...] = ()
    error: JobError | None = None
    metadata: dict[str, str] = field(default_factory=dict[str, str])
    webhook: WebhookTarget | None = None
    batch: JobId | None = None
    children: ChildCounts = field(default_factory=ChildCounts)
    run: int = 0
    done_at_reopen: int = 0
    out_audio_ms: int = 0
    spoken_by: SpokenBy = field(default_factory=SpokenBy)
    first_words: str = ""
    plan_document: str = ""

    @property
    def is_planned(self) -> bool:
        return self.plan_key is not None or (self.plan_document != "" and self.segments.total > 0)

    @property
    def queue(self) -> WorkQueue:
        """Where its segments wait."""
        return queue_of(self.spec)


def queue_of(spec: JobSpec) -> WorkQueue:
    """Where a job's segments, voices or shards wait."""
    return CPU_QUEUE if isinstance(spec, BatchSpec) else speech_queue(spec.model)
