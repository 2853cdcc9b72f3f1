"""What comes in with a new job, and how much unfinished work may be held. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from rhapsode.contract.jobs.input import SourceType
from rhapsode.contract.jobs.states import Priority
from storage.ids import JobId, TenantId
from storage.jobs.record import JobSpec
from storage.jobs.webhook_target import WebhookTarget
from storage.jobs.whole import WholePlan
from storage.narration.spec import NarrationSpec


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    """`key` as the client sent it; `fingerprint` the sha256 of method, path and body."""

    key: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Submission:
    """A validated job whose text, or list of voices, already lies in the store under `input_key`.

    The journal has it as one document, and each line of a batch's shards.

    key_id: of the API key it came with, to whose usage it is counted; "" for this machine's own user and keys that have
    no id. not_before_ms: when it may start, in Unix ms; None for at once.
    whole: the plan of a job that is one item; None for one that a separate item plans.
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
    webhook: WebhookTarget | None = None
    batch: JobId | None = None
    trace: str = ""
    key_id: str = ""
    not_before_ms: int | None = None
    whole: WholePlan | None = None


def with_plan(submission: Submission, whole: WholePlan) -> Submission:
    """The same job as one item, its speech expected as the plan has it."""
    return replace(submission, whole=whole, estimated_audio_ms=whole.speech_ms)


BULKY_CHARS = 4_000
"""A longer text takes more than a few milliseconds to plan."""


def is_bulky(submission: Submission) -> bool:
    """Whether it may take seconds until the job is planned. A tenant has a bound on how many of these are read at once.

    How long a document is, is known only when it has been read.
    """
    match submission.spec:
        case NarrationSpec(request=request):
            return request.input.type is SourceType.DOCUMENT or submission.input_chars > BULKY_CHARS
        case _:
            return False


@dataclass(frozen=True, slots=True)
class AdmissionLimits:
    """The limit of unfinished work, in jobs and in expected audio, for tenants without their own limit."""

    tenant_jobs: int = 10_000
    tenant_audio_ms: int = 500 * 3_600_000
    total_jobs: int = 100_000
    total_audio_ms: int = 5_000 * 3_600_000
