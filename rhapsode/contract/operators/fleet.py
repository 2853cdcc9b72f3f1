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
    attempts. `live_slots`, `live_streams`: live streams that it can serve at once, and those open now; null for none.
    `other_models`: models that it may load instead. `tasks_down`: background tasks that ended unexpectedly
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
    live_slots: int | None = None
    live_streams: int | None = None
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
    """`backlog_audio_s`: expected audio of accepted text that is not spoken yet. `jobs`, `tenants`: with items that
    could be claimed now. `oldest_wait_s`: the longest time that such a job has waited for its turn. `wait_p50_s`,
    `wait_p95_s`: percentiles of these waits.
    """

    job_class: Literal["interactive", "bulk"] = Field(validation_alias="class", serialization_alias="class")
    backlog_audio_s: float
    jobs: int
    tenants: int
    oldest_wait_s: float | None
    wait_p50_s: float | None = None
    wait_p95_s: float | None = None


class QueueView(Answer):
    """`tickets`: messages in the broker, null if it does not answer. `pace`: audio seconds spoken in a second, as
    measured. `drain_s`: seconds until the backlog is spoken, at the pace of the jobs' `eta_s`; null while that is
    unknown.
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

    `scheduled_jobs`: of the unfinished ones, those that wait for their `not_before`. `drain_s`: of the queue that needs
    longest; null if one of them does not know. `live_streams`, `live_slots`: open streams of live speech, and how many
    the workers can serve at once.
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
    drain_s: float | None = None
    live_streams: int = 0
    live_slots: int = 0


class QueueTenant(Answer):
    """What the unfinished jobs of one tenant hold. `audio_s`: their expected audio."""

    tenant: str
    jobs: int
    audio_s: float


class QueueList(Answer):
    """`tenants`: of those with items that could be claimed now, the ten with most audio, the largest first."""

    object: Literal["list"] = "list"
    data: tuple[QueueView, ...]
    totals: QueueTotals
    tenants: tuple[QueueTenant, ...] = ()


class FleetMinute(Answer):
    """The fleet at one time in the minute that began at `at`; null where nothing was measured.

    `audio_s_per_s`: mean audio seconds spoken per second since the point before. `step_ms_p50`, `step_ms_most`: of the
    engines' steps. `oldest_wait_s`: the longest time that a job has waited for its turn. `wait_p50_s`, `wait_p95_s`:
    percentiles of the waits in that job's class and queue. `given_up`: items given up in the 60 s before. Other fields
    are as the `totals` of queues have them.
    """

    at: datetime
    workers: int
    audio_s_per_s: float | None
    batch_fill: float | None
    step_ms_p50: float | None
    step_ms_most: float | None
    backlog_audio_s: float
    drain_s: float | None = None
    unfinished_jobs: int
    leases: int
    retries_waiting: int = 0
    live_streams: int = 0
    oldest_wait_s: float | None
    wait_p50_s: float | None = None
    wait_p95_s: float | None = None
    given_up: int = 0
    dead_letters: int


class FleetHistory(Answer):
    """The oldest first, a day at most. A minute without a running API process has no point."""

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
