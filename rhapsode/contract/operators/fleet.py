"""The answers about workers, queues and what was given up: the public contract for operators."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from rhapsode.contract.base import Answer, Id


class EngineState(Answer):
    """`batch_fill` (0 to 1), `audio_s_per_s`, `step_ms`: over the last two seconds, null while nothing was spoken."""

    active_requests: int
    waiting_requests: int
    batch_fill: float | None
    audio_s_per_s: float | None
    step_ms: float | None
    audio_s_total: float
    steps_total: int
    restarts: int


class VoiceMemory(Answer):
    """Voices in the worker's memory."""

    voices: int
    bytes: int
    hits: int
    misses: int


class WorkerView(Answer):
    """A worker process. `loading`: it loads another model. `drained`: it claims nothing and has no work.
    `unresponsive`: no heartbeat for ten seconds; after a minute it is not listed. `leases`: current items, or webhook
    attempts. `other_models`: models that it may load instead. `tasks_down`: background tasks that ended unexpectedly
    and have not restarted.
    """

    name: str
    object: Literal["worker"] = "worker"
    role: Literal["gpu", "cpu", "hooks", "janitor"]
    state: Literal["loading", "ready", "draining", "drained", "unresponsive"]
    queue: str | None
    model: str | None
    other_models: tuple[str, ...] = ()
    slots: int | None
    leases: int
    tasks_down: tuple[str, ...] = ()
    host: str
    pid: int
    version: str
    started_at: datetime
    seen_at: datetime
    engine: EngineState | None
    voice_cache: VoiceMemory | None


class WorkerList(Answer):
    object: Literal["list"] = "list"
    data: tuple[WorkerView, ...]


class QueueClass(Answer):
    """`jobs`, `tenants`: with items that could be claimed now. `oldest_wait_s`: the longest that such a job has gone
    without a turn.
    """

    job_class: Literal["interactive", "bulk"] = Field(validation_alias="class", serialization_alias="class")
    backlog_audio_s: float
    jobs: int
    tenants: int
    oldest_wait_s: float | None


class QueueView(Answer):
    """`tickets`: messages in the broker, null if it does not answer. `pace`: audio seconds spoken in a second, as
    measured; `drain_s`: the backlog by that pace.
    """

    name: str
    object: Literal["queue"] = "queue"
    lane: Literal["cpu", "gpu", "hooks"]
    model: str | None
    ready_items: int
    leased_items: int
    tickets: int | None
    slots: int
    workers: int
    pace: float | None
    drain_s: float | None
    classes: tuple[QueueClass, ...]


class QueueTotals(Answer):
    """`claims_held`: why no worker is given anything, null while claims are open.

    `scheduled_jobs`: of the unfinished ones, those that wait for their `not_before`.
    """

    unfinished_jobs: int
    scheduled_jobs: int
    backlog_audio_s: float
    leases: int
    retries_waiting: int
    dead_letters: int
    audio_s_per_s: float
    batch_fill: float | None
    claims_held: str | None


class QueueList(Answer):
    object: Literal["list"] = "list"
    data: tuple[QueueView, ...]
    totals: QueueTotals


class FleetMinute(Answer):
    """The fleet as it was in the minute that began at `at`; null where nothing was measured.

    `audio_s_per_s`, `batch_fill`, `backlog_audio_s`, `unfinished_jobs`, `leases`, `dead_letters`: as the `totals` of
    queues have them. `step_ms_p50`, `step_ms_most`: of the engines' steps. `oldest_wait_s`: the longest that a job
    which could be claimed has gone without a turn.
    """

    at: datetime
    workers: int
    audio_s_per_s: float
    batch_fill: float | None
    step_ms_p50: float | None
    step_ms_most: float | None
    backlog_audio_s: float
    unfinished_jobs: int
    leases: int
    oldest_wait_s: float | None
    dead_letters: int


class FleetHistory(Answer):
    """The oldest first, a day at most; a minute in which no janitor was there is missing."""

    object: Literal["list"] = "list"
    data: tuple[FleetMinute, ...]


class DeadLetterView(Answer):
    """An item that was given up. `attempts`: that were charged to it."""

    id: Id
    object: Literal["dead_letter"] = "dead_letter"
    at: datetime
    job: str
    tenant: str
    item: str
    code: str
    detail: str
    attempts: int


class DeadLetterList(Answer):
    object: Literal["list"] = "list"
    data: tuple[DeadLetterView, ...]
    next_cursor: str | None
    has_more: bool


class CounterDifference(Answer):
    counter: str
    expected: int
    actual: int


class AuditView(Answer):
    """An audit. `drift` is empty in a sound system."""

    object: Literal["audit"] = "audit"
    at: datetime
    drift: tuple[CounterDifference, ...]
