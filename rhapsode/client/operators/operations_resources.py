"""What operators are answered: workers, queues, items that were given up, audits."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from rhapsode.client.resources import Resource


class EngineState(Resource):
    """batch_fill (0 to 1), audio_s_per_s, step_ms: over the last two seconds, None while nothing was spoken."""

    active_requests: int
    waiting_requests: int
    batch_fill: float | None = None
    audio_s_per_s: float | None = None
    step_ms: float | None = None
    audio_s_total: float
    steps_total: int
    restarts: int


class VoiceMemory(Resource):
    voices: int
    bytes: int
    hits: int
    misses: int


class Worker(Resource):
    """state: `ready`, `draining`, `drained` (nothing is left in its hands) or `unresponsive`."""

    name: str
    role: str
    state: str
    queue: str | None = None
    model: str | None = None
    slots: int | None = None
    leases: int
    host: str
    pid: int
    version: str
    started_at: datetime
    seen_at: datetime
    engine: EngineState | None = None
    voice_cache: VoiceMemory | None = None


class WorkerList(Resource):
    data: tuple[Worker, ...]


class QueueClass(Resource):
    """jobs, tenants: with items that could be claimed now."""

    job_class: str = Field(alias="class")
    backlog_audio_s: float
    jobs: int
    tenants: int
    oldest_wait_s: float | None = None


class WorkQueue(Resource):
    """pace: audio seconds spoken in a second. drain_s: the backlog by that pace. None while nothing is known."""

    name: str
    lane: str
    model: str | None = None
    ready_items: int
    leased_items: int
    tickets: int | None = None
    slots: int
    workers: int
    pace: float | None = None
    drain_s: float | None = None
    classes: tuple[QueueClass, ...]


class QueueTotals(Resource):
    """claims_held: why no worker is given anything; None while claims are open. scheduled_jobs: of the unfinished ones,
    those that wait for their time.
    """

    unfinished_jobs: int
    scheduled_jobs: int = 0
    backlog_audio_s: float
    leases: int
    retries_waiting: int
    dead_letters: int
    audio_s_per_s: float
    batch_fill: float | None = None
    claims_held: str | None = None


class Queues(Resource):
    data: tuple[WorkQueue, ...]
    totals: QueueTotals


class DeadLetter(Resource):
    """An item that was given up. attempts: that were charged to it."""

    id: str
    at: datetime
    job: str
    tenant: str
    item: str
    code: str
    detail: str
    attempts: int


class DeadLetterPage(Resource):
    data: tuple[DeadLetter, ...]
    next_cursor: str | None = None
    has_more: bool = False


class CounterDifference(Resource):
    counter: str
    expected: int
    actual: int


class Audit(Resource):
    """drift: empty in a sound system."""

    at: datetime
    drift: tuple[CounterDifference, ...]


class ReconcileStep(Resource):
    """What one step found in the journal, and how to go on; next_cursor None: that was the last."""

    next_cursor: str | None = None
    jobs_seen: int
    jobs_restored: int
    jobs_marked: int
    jobs_gone: int
    counters_mended: int = 0
