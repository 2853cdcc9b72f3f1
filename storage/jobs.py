"""The job record, its states and their moves, and the values that enter and leave the job store. Pure.

Nothing here talks to Redis. `MOVES` is the one table of allowed state changes: the Lua scripts receive it,
the tests walk it.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NewType

from storage.batches import BatchSpec
from storage.job_warnings import JobWarning
from storage.outputs import OutputSpec
from storage.quality import Quality
from storage.segment_edits import FIRST_TAKE, UNEDITED, SegmentEdit
from storage.sources import Source
from storage.speaker_cast import SpeakerVoice
from storage.voice_reference import VoiceCacheSpec, VoiceReference
from storage.webhook_reference import JobWebhook
from storage.work_queues import CPU_QUEUE, WorkQueue, speech_queue

JobId = NewType("JobId", str)
TenantId = NewType("TenantId", str)


class JobState(enum.StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    PAUSED = "paused"
    CANCELLING = "cancelling"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"

    @property
    def is_terminal(self) -> bool:
        """Nothing happens to the job by itself any more; its owner may reopen it."""
        return self in _TERMINAL


MOVES: dict[JobState, frozenset[JobState]] = {
    JobState.PENDING: frozenset(
        {JobState.RUNNING, JobState.PAUSED, JobState.CANCELLED, JobState.FAILED, JobState.EXPIRED}
    ),
    JobState.RUNNING: frozenset(
        {JobState.PAUSED, JobState.CANCELLING, JobState.CANCELLED, JobState.SUCCEEDED, JobState.FAILED}
    ),
    JobState.PAUSED: frozenset(
        {JobState.PENDING, JobState.RUNNING, JobState.CANCELLED, JobState.CANCELLING, JobState.FAILED, JobState.EXPIRED}
    ),
    JobState.CANCELLING: frozenset({JobState.CANCELLED}),
    JobState.SUCCEEDED: frozenset({JobState.PENDING}),
    JobState.FAILED: frozenset({JobState.PENDING}),
    JobState.CANCELLED: frozenset({JobState.PENDING}),
    JobState.EXPIRED: frozenset({JobState.PENDING}),
}

_TERMINAL = frozenset({JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED, JobState.EXPIRED})


class JobPhase(enum.StrEnum):
    """What a running job is doing."""

    PLANNING = "planning"
    SYNTHESIZING = "synthesizing"
    ASSEMBLING = "assembling"


class Priority(enum.StrEnum):
    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"


class JobClass(enum.StrEnum):
    """The two service classes of a lane; interactive work is offered four claims of five."""

    INTERACTIVE = "interactive"
    BULK = "bulk"


class Lane(enum.StrEnum):
    """What a worker process does: `cpu` plans and assembles, `gpu` synthesises. Where items wait: work_queues."""

    CPU = "cpu"
    GPU = "gpu"


PLAN_ITEM = "plan"
ASSEMBLE_ITEM = "assemble"
"""Item names; a segment's item name is its index in decimal."""

INTERACTIVE_AUDIO_MS = 30_000
"""A job of normal priority with at most this much expected audio is interactive."""


def job_class(priority: Priority, estimated_audio_ms: int) -> JobClass:
    if priority is Priority.HIGH:
        return JobClass.INTERACTIVE
    if priority is Priority.LOW or estimated_audio_ms > INTERACTIVE_AUDIO_MS:
        return JobClass.BULK
    return JobClass.INTERACTIVE


@dataclass(frozen=True, slots=True)
class Segmentation:
    """How text becomes segments, in characters (code points).

    max_bytes: of a segment's text in UTF-8; None for no such bound. A byte-level tokenizer makes at most one token of
    a byte, so this holds every segment within what the model takes, in scripts it hardly knows too.

    min_chars: what is shorter is spoken with a neighbour, also over the end of a paragraph; 0 for nothing.
    """

    target_chars: int = 220
    max_chars: int = 400
    max_bytes: int | None = None
    min_chars: int = 0


@dataclass(frozen=True, slots=True)
class Pauses:
    """Silence after a segment, in seconds, by what ends there; the longest counts. chapter_s: before a chapter."""

    sentence_s: float = 0.25
    paragraph_s: float = 0.6
    heading_s: float = 0.9
    chapter_s: float = 1.5


class Normalization(enum.StrEnum):
    """What is done to numbers and signs before the model reads them; the plan shows the outcome."""

    OFF = "off"
    """Nothing: the model reads them itself."""

    BASIC = "basic"
    """Numbers, dates, money and units become words, in the languages that have rules."""


@dataclass(frozen=True, slots=True)
class SamplingOverrides:
    """Fields the caller set; None keeps the checkpoint's own value."""

    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    repetition_penalty: float | None = None


@dataclass(frozen=True, slots=True)
class NarrationSpec:
    """What a narration job asks for, apart from its text.

    voice: a built-in speaker of the model; "" when the model designs the voice from `instructions`; the name of the
        caller's own voice when `own_voice` is set.
    language: a language of the model, or "auto".
    seed_fixed: whether the caller chose the seed, and means to hear what comes of it.
    speakers: the cast, for segments that name another speaker. source: what the stored input is.
    dictionaries: pronunciation dictionaries as `<id>@<version>`, the first that has a word counts.
    validate_only: the job ends with its plan; nothing is spoken.
    """

    model: str
    voice: str
    language: str = "auto"
    instructions: str = ""
    seed: int = 0
    seed_fixed: bool = False
    segmentation: Segmentation = field(default_factory=Segmentation)
    pauses: Pauses = field(default_factory=Pauses)
    sampling: SamplingOverrides = field(default_factory=SamplingOverrides)
    own_voice: VoiceReference | None = None
    speakers: tuple[SpeakerVoice, ...] = ()
    source: Source = field(default_factory=Source)
    normalization: Normalization = Normalization.OFF
    dictionaries: tuple[str, ...] = ()
    validate_only: bool = False
    quality: Quality = field(default_factory=Quality)
    output: OutputSpec = field(default_factory=OutputSpec)


JobSpec = NarrationSpec | VoiceCacheSpec | BatchSpec
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
    """One finished output of a job. `name` is what the API calls it, `key` where the store keeps it."""

    name: str
    type: str
    key: str
    bytes: int
    sha256: str
    duration_s: float | None = None


@dataclass(frozen=True, slots=True)
class JobError:
    """Why a job failed; `code` is one of the public contract's.

    spoken_in_vain: attempts at a segment of which none passed the quality gate; not part of the job's record.
    """

    code: str
    detail: str
    segment: int | None = None
    spoken_in_vain: int = 0


@dataclass(frozen=True, slots=True)
class JobRecord:
    """A job as Redis holds it. Times are Unix milliseconds of the Redis server.

    run: times it was reopened after it had ended; started_at_ms and deadline_ms are of this run. done_before: segments
    that were done when it began. out_audio_ms: of estimated_audio_ms, what needs no speaking any more.
    retries: items that went back after an error. rerolls: attempts that the quality gate sent back. samples_reused:
    of samples_done, those that no engine was asked for. warnings: the first 100.
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
    segments: SegmentCounts = field(default_factory=SegmentCounts)
    retries: int = 0
    rerolls: int = 0
    chars_done: int = 0
    samples_done: int = 0
    samples_reused: int = 0
    sample_rate_hz: int = 0
    engine_ms: int = 0
    artifacts: tuple[ArtifactRecord, ...] = ()
    warnings: tuple[JobWarning, ...] = ()
    error: JobError | None = None
    metadata: dict[str, str] = field(default_factory=dict[str, str])
    webhook: JobWebhook | None = None
    batch: JobId | None = None
    children: ChildCounts = field(default_factory=ChildCounts)
    run: int = 0
    done_before: int = 0
    out_audio_ms: int = 0

    @property
    def queue(self) -> WorkQueue:
        """Where its segments wait."""
        return queue_of(self.spec)


def queue_of(spec: JobSpec) -> WorkQueue:
    """Where a job's segments, voices or chunks wait."""
    return CPU_QUEUE if isinstance(spec, BatchSpec) else speech_queue(spec.model)


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    """`key` as the client sent it; `fingerprint` the sha256 of method, path and body."""

    key: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Submission:
    """A validated job whose text, or list of voices, already lies in the store under `input_key`.

    key_id: of the API key it came with, to whose usage it is counted; "" for this machine's own user and keys that have
    no id. stored_bytes: of what was stored with it.
    """

    id: JobId
    tenant: TenantId
    spec: JobSpec
    priority: Priority
    input_key: str
    input_chars: int
    estimated_audio_ms: int
    retention_s: int
    deadline_ms: int | None = None
    metadata: dict[str, str] = field(default_factory=dict[str, str])
    idempotency: IdempotencyKey | None = None
    webhook: JobWebhook | None = None
    batch: JobId | None = None
    trace: str = ""
    key_id: str = ""
    stored_bytes: int = 0


@dataclass(frozen=True, slots=True)
class AdmissionLimits:
    """Unfinished work that may be held, in jobs and in expected audio, and the bytes of all that a tenant has stored.

    Of tenants without a limit of their own. tenant_stored_bytes: None for as much as there is room for.
    """

    tenant_jobs: int = 10_000
    tenant_audio_ms: int = 500 * 3_600_000
    tenant_stored_bytes: int | None = None
    total_jobs: int = 100_000
    total_audio_ms: int = 5_000 * 3_600_000

    @property
    def packed(self) -> str:
        """As the scripts take them."""
        stored = "" if self.tenant_stored_bytes is None else self.tenant_stored_bytes
        return f"{self.tenant_jobs}:{self.tenant_audio_ms}:{stored}:{self.total_jobs}:{self.total_audio_ms}"


@dataclass(frozen=True, slots=True)
class Tickets:
    """How many items a script made ready, by queue; as many tickets should be sent. Queues with none are left out."""

    by_queue: Mapping[WorkQueue, int] = field(default_factory=dict[WorkQueue, int])

    @property
    def total(self) -> int:
        return sum(self.by_queue.values())

    def without_one(self, queue: WorkQueue) -> Tickets:
        """One fewer of this queue, which has some."""
        return Tickets({each: count - (each == queue) for each, count in self.by_queue.items()})

    def __add__(self, other: Tickets) -> Tickets:
        both = Counter(self.by_queue)
        both.update(other.by_queue)
        return Tickets(dict(both))


@dataclass(frozen=True, slots=True)
class WorkerIdentity:
    """A worker process: `name` survives a restart, `incarnation` does not."""

    name: str
    incarnation: str


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to finish one item. The fence grows with every claim; only the newest may commit."""

    job: JobId
    tenant: TenantId
    item: str
    fence: int


@dataclass(frozen=True, slots=True)
class ClaimedItem:
    """An item under lease, with what its work needs.

    attempt: 1 for the first try. suspicions: engine deaths this item was present at. edit: stands over the plan of a
    segment. take: of a segment, the number of the one to make, 1 for the first. spoken_in_vain: attempts at the segment
    before its job was reopened. waited_ms: how long its job had waited for this turn.
    trace: the trace that its job is part of, as W3C traceparent; "" if none. recovered: Redis was restored from a
    backup, so the store may hold what is to be made.
    """

    lease: Lease
    attempt: int
    suspicions: int
    spec: JobSpec
    input_key: str
    plan_key: str | None
    deadline_ms: int | None
    edit: SegmentEdit = UNEDITED
    take: int = FIRST_TAKE
    job_class: JobClass = JobClass.BULK
    spoken_in_vain: int = 0
    waited_ms: int = 0
    trace: str = ""
    recovered: bool = False

    @property
    def narration(self) -> NarrationSpec:
        """The spec of an item that belongs to a narration."""
        if not isinstance(self.spec, NarrationSpec):
            raise TypeError(f"{self.lease.item} of {self.lease.job} is no part of a narration")
        return self.spec


class LeaseStatus(enum.StrEnum):
    HELD = "held"
    LOST = "lost"
    ABORTED = "aborted"


QUARANTINE_SUSPICIONS = 3
"""From so many suspicions on an item runs alone in its engine, and only then do its deaths cost attempts."""


class ReleaseReason(enum.StrEnum):
    """Why an item goes back without a result.

    All but SHUTDOWN add one suspicion, and charge the attempt only if the item ran alone: whoever shares a batch with
    poison is innocent until it fails alone. A suspect that still waited to run alone is held nothing against.
    """

    SHUTDOWN = "shutdown"
    """The worker is leaving; nothing is held against the item."""

    ENGINE_DIED = "engine_died"
    """The engine died with this item in its batch."""

    WORKER_DIED = "worker_died"
    """A new incarnation of the worker found its predecessor's lease."""

    LEASE_EXPIRED = "lease_expired"
    """Nobody extended the lease."""


@dataclass(frozen=True, slots=True)
class PlanResult:
    """input_chars: of the text, where that is known only now. stored_bytes: of the plan and what was stored with it."""

    plan_key: str
    num_segments: int
    estimated_audio_ms: int
    input_chars: int | None = None
    stored_bytes: int = 0


@dataclass(frozen=True, slots=True)
class SegmentResult:
    """A finished segment as the job's record keeps it; the artifact key follows from index and fence.

    attempts: times it was spoken for this result, 0 for one that was `reused`. flags: names of what the quality gate
    found and could not cure; empty for a segment that passed. loudness_lufs: of its samples, None where that is not
    defined. take: which of the segment's takes this is, 1 for the first.
    """

    index: int
    fence: int
    num_samples: int
    sha256: str
    num_chars: int = 0
    finish_reason: str = "eos"
    seed: int = 0
    attempts: int = 1
    reused: bool = False
    take: int = 1
    loudness_lufs: float | None = None
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SegmentReport:
    """What a worker says about a segment it finished; the fields of `SegmentResult`, and what the job sums up.

    engine_ms: of all attempts together. reuse_id: the content under which other jobs may find it, "" if none may.
    warning: why a segment with flags was kept. stored_bytes: of the object.
    """

    num_samples: int
    sample_rate_hz: int
    num_chars: int
    sha256: str
    finish_reason: str
    engine_ms: int
    seed: int = 0
    attempts: int = 1
    reused: bool = False
    take: int = 1
    loudness_lufs: float | None = None
    flags: tuple[str, ...] = ()
    warning: str = ""
    reuse_id: str = ""
    stored_bytes: int = 0


@dataclass(frozen=True, slots=True)
class JobQuery:
    """Filters and paging of a job list. `after` is the id of the last job of the previous page.

    batch: only jobs of this batch, which has to be the tenant's. kind: None for both.
    """

    states: frozenset[JobState] = frozenset()
    created_after_ms: int | None = None
    created_before_ms: int | None = None
    metadata: dict[str, str] = field(default_factory=dict[str, str])
    newest_first: bool = True
    after: JobId | None = None
    limit: int = 20
    batch: JobId | None = None
    kind: Literal["synthesis", "voice_cache"] | None = None


@dataclass(frozen=True, slots=True)
class JobPage:
    """One page of a list. The next one starts after `scanned_to`, which filters may move past the last job."""

    jobs: tuple[JobRecord, ...]
    has_more: bool
    scanned_to: JobId | None = None


@dataclass(frozen=True, slots=True)
class ReapReport:
    """One sweep of the janitor."""

    leases_expired: int
    retries_due: int
    jobs_expired: int
    tickets: Tickets


@dataclass(frozen=True, slots=True)
class JobEvent:
    """One entry of a job's event log. `id` is the Redis stream id; `data` is flat JSON."""

    id: str
    type: str
    at_ms: int
    data: dict[str, str | int | float | None]
