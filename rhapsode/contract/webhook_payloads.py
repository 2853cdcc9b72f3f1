"""What receivers of webhooks get: the public contract. `storage.webhooks.payloads` makes it."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any, Literal

from rhapsode.contract.base import Answer, FileName, Id
from rhapsode.contract.jobs.states import JobState
from rhapsode.contract.webhooks import DisabledReason


class WebhookProgress(Answer):
    fraction: float
    segments_total: int
    segments_done: int
    segments_failed: int
    segments_flagged: int
    chars_done: int
    audio_s_done: float


class WebhookArtifact(Answer):
    """`key`: where it lies in the bucket of the service, if the job has a destination there."""

    name: FileName
    type: str
    bytes: int
    sha256: str
    duration_s: float | None
    key: str | None


class WebhookFailure(Answer):
    code: str
    detail: str
    segment: int | None = None


class WebhookJob(Answer):
    """`version` grows with every change: of two events that arrive out of order, the larger is the later.

    `warnings`: of segments that were kept with a fault or are a gap, the first 16. `omitted`: fields that were left
    empty because the body would have had 20 kB.
    """

    id: Id
    kind: Literal["synthesis", "voice_cache"]
    state: JobState
    phase: str | None
    version: int
    created_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    progress: WebhookProgress
    artifacts: tuple[WebhookArtifact, ...]
    error: WebhookFailure | None
    warnings: tuple[WebhookFailure, ...]
    metadata: dict[str, str]
    omitted: tuple[str, ...] | None = None


class WebhookBatchCounts(Answer):
    """Jobs of the batch, and how those that ended did."""

    total: int
    succeeded: int
    failed: int
    cancelled: int
    expired: int


class WebhookBatch(Answer):
    """`version` and `omitted` as of a job."""

    id: Id
    state: JobState
    version: int
    created_at: datetime | None
    finished_at: datetime | None
    counts: WebhookBatchCounts
    error: WebhookFailure | None
    metadata: dict[str, str]
    omitted: tuple[str, ...] | None = None


class WebhookVoice(Answer):
    id: Id
    name: str | None


class WebhookCache(Answer):
    model: str
    mode: Literal["x_vector", "in_context"]
    error: WebhookFailure | None


class WebhookQuota(Answer):
    """A limit of `GET /v1/quotas` that refused a request. It is sent once a day (UTC), `period`."""

    name: Literal["jobs", "audio_s", "voices"]
    held: float
    limit: float
    period: date


class WebhookSubject(Answer):
    id: Id
    description: str | None = None
    reason: DisabledReason | None = None


class WebhookData(Answer):
    """Of `job`, `batch`, `voice` (with `cache`), `webhook_endpoint` and `quota`, what the event tells of.

    `detail` is flat.
    """

    job: WebhookJob | None = None
    batch: WebhookBatch | None = None
    voice: WebhookVoice | None = None
    cache: WebhookCache | None = None
    webhook_endpoint: WebhookSubject | None = None
    quota: WebhookQuota | None = None
    detail: dict[str, Any] | None = None
    links: dict[str, str]


class WebhookPayload(Answer):
    """The body of every webhook, in less than 20 kB. Its headers are those of Standard Webhooks 1.0."""

    type: str
    timestamp: datetime
    data: WebhookData
