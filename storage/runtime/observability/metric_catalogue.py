"""Every metric of every process: name with its unit, kind, labels, meaning. What is not here cannot be exported.

`python -m storage.runtime.observability.metric_table` prints the table of docker/prometheus/METRICS.md from it; alerts
and dashboards may name nothing else. No label holds a tenant, a job or a text: operators group tenants into classes.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Kind(enum.StrEnum):
    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Source(enum.StrEnum):
    """Which processes export a metric."""

    EVERY = "every process"
    API = "API"
    FLEET = "API, about the whole system"
    WORKER = "workers"
    GPU = "GPU workers"
    HOOKS = "webhook workers"
    JANITOR = "janitor"


CALL_BUCKETS_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.0, 10.0)
REQUEST_BUCKETS_S = (0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0)
FIRST_AUDIO_BUCKETS_S = (0.005, 0.01, 0.015, 0.02, 0.025, 0.035, 0.05, 0.08, 0.15, 0.4, 1.0, 5.0)
FRAME_BUCKETS_S = (0.0025, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.04, 0.06, 0.08, 0.16, 0.5)
WORK_BUCKETS_S = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0, 600.0)


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """name: without `_total`, which a counter's samples get. unit: what one of it is."""

    name: str
    kind: Kind
    unit: str
    source: Source
    meaning: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()

    @property
    def sample(self) -> str:
        """The name that rules and dashboards use."""
        return f"{self.name}_total" if self.kind is Kind.COUNTER else self.name


def _counter(name: str, unit: str, source: Source, meaning: str, *labels: str) -> MetricSpec:
    return MetricSpec(f"rhapsode_{name}", Kind.COUNTER, unit, source, meaning, labels)


def _gauge(name: str, unit: str, source: Source, meaning: str, *labels: str) -> MetricSpec:
    return MetricSpec(f"rhapsode_{name}", Kind.GAUGE, unit, source, meaning, labels)


def _histogram(name: str, source: Source, meaning: str, buckets: tuple[float, ...], *labels: str) -> MetricSpec:
    return MetricSpec(f"rhapsode_{name}_seconds", Kind.HISTOGRAM, "seconds", source, meaning, labels, buckets)


_EVERY = (
    _gauge("process_info", "1", Source.EVERY, "the process is there", "role", "name", "version"),
    _histogram(
        "redis_call_duration", Source.EVERY, "one function in Redis, as its caller waits", CALL_BUCKETS_S, "script"
    ),
    _counter("redis_call_errors", "calls", Source.EVERY, "functions that ended in an error", "script"),
    _histogram(
        *("artifact_call_duration", Source.EVERY, "one call of the object store", CALL_BUCKETS_S),
        *("operation", "store"),
    ),
    _counter(
        "artifact_call_errors", "calls", Source.EVERY, "calls of the object store that failed", "operation", "store"
    ),
    _counter("artifact_written_bytes", "bytes", Source.EVERY, "bytes of objects written", "store"),
    _gauge(
        *("background_tasks_down", "tasks", Source.EVERY),
        *("background tasks that ended unexpectedly and are not started again yet", "task"),
    ),
    _counter(
        *("background_task_failures", "failures", Source.EVERY),
        *("times that a background task ended unexpectedly; it is started again after a second", "task"),
    ),
    _counter(
        "tickets_unsent", "tickets", Source.EVERY, "tickets that the broker did not take; the janitor's to replace"
    ),
)

_API = (
    _counter("http_requests", "requests", Source.API, "requests answered", "method", "route", "status"),
    _histogram("http_request_duration", Source.API, "from a request to its answer's head", REQUEST_BUCKETS_S, "route"),
    _gauge("http_requests_in_progress", "requests", Source.API, "requests under way, streams too"),
    _counter("journal_dropped_jobs", "jobs", Source.API, "accepted jobs that the journal had no room for"),
    _gauge("live_sockets", "connections", Source.API, "WebSockets of `/v1/audio/speech/ws` that are open"),
    _gauge("followers", "clients", Source.API, "clients that wait for a job's end or hear of its events"),
    _counter("follow_losses", "losses", Source.API, "times that the connection that tells of events was lost"),
    _counter("http_refusals", "requests", Source.API, "requests refused for now (429, 503), by problem code", "code"),
)

_LIVE = (
    _gauge("live_streams", "streams", Source.API, "live streams that are open", "tenant_class"),
    _histogram(
        *("live_first_audio", Source.API, "from an accepted call to its first audio in this process"),
        *(FIRST_AUDIO_BUCKETS_S, "tenant_class"),
    ),
    _counter(
        *("live_ended_streams", "streams", Source.API),
        *("live streams that ended: `done`, `cancelled`, or the code with which they broke", "tenant_class", "outcome"),
    ),
    _counter(
        *("live_underruns", "gaps", Source.API),
        *("times that a listener without a buffer ran dry while the text was complete", "tenant_class"),
    ),
    _counter("live_audio_seconds", "seconds of audio", Source.API, "audio of ended live streams", "tenant_class"),
    _counter("live_lost_workers", "streams", Source.API, "times that a live stream lost its worker", "reason"),
    _counter("live_resumed_streams", "streams", Source.API, "times that such a stream went on at another", "reason"),
    _gauge(
        *("live_lateness_seconds", "seconds", Source.API),
        "how late the event loop is on average; beyond `RHAPSODE_LIVE_LATENESS_S` no live speech is taken",
    ),
)

_FLEET = (
    _gauge("fleet_up", "0 or 1", Source.FLEET, "whether Redis answered this scrape"),
    _gauge(
        *("backlog_audio_seconds", "seconds of expected audio", Source.FLEET, "accepted and not spoken yet"),
        *("queue", "lane", "class"),
    ),
    _gauge("queue_ready_items", "items", Source.FLEET, "items that could be claimed now", "queue", "lane"),
    _gauge(
        *("queue_waiting_jobs", "jobs", Source.FLEET, "jobs with items that could be claimed now"),
        *("queue", "lane", "class"),
    ),
    _gauge(
        *("queue_oldest_wait_seconds", "seconds", Source.FLEET, "the longest that such a job has gone without a turn"),
        *("queue", "lane", "class"),
    ),
    _gauge(
        "queue_pace_ratio", "audio seconds per second", Source.FLEET, "speed as measured at commits", "queue", "lane"
    ),
    _gauge(
        "worker_slots",
        "slots",
        Source.FLEET,
        "segments, plans and files that live workers make at a time",
        "queue",
        "lane",
    ),
    _gauge("workers", "processes", Source.FLEET, "worker processes heard of in the last minute", "role", "state"),
    _gauge(
        *("tenant_class_backlog_audio_seconds", "seconds of expected audio", Source.FLEET),
        *("of unfinished jobs of tenants with claimable items", "tenant_class"),
    ),
    _gauge(
        *("tenant_class_jobs", "jobs", Source.FLEET, "unfinished jobs of tenants with claimable items"),
        "tenant_class",
    ),
    _gauge(
        *("tenant_class_oldest_wait_seconds", "seconds", Source.FLEET),
        "the longest wait among the hundred longest of the queue",
        *("queue", "lane", "class", "tenant_class"),
    ),
    _gauge("leases", "items", Source.FLEET, "items under lease"),
    _gauge("retries_waiting", "items", Source.FLEET, "items that wait for their next try"),
    _gauge("unfinished_jobs", "jobs", Source.FLEET, "jobs that have not ended"),
    _gauge("scheduled_jobs", "jobs", Source.FLEET, "of these, jobs that wait for the time they were given"),
    _gauge("dead_letters", "items", Source.FLEET, "items that were given up and nobody has seen to"),
    _gauge("claims_held", "0 or 1", Source.FLEET, "whether nothing is claimed until Redis was reconciled"),
    _gauge("counter_drift", "counters", Source.FLEET, "counters that the last audit found wrong; must be 0"),
    _gauge("audit_age_seconds", "seconds", Source.FLEET, "since the last complete audit"),
)

_WORKER = (
    _counter("items", "items", Source.WORKER, "claimed items and what became of them", "kind", "outcome"),
    _histogram("item_duration", Source.WORKER, "from the claim to the outcome", WORK_BUCKETS_S, "kind"),
    _histogram(
        "claim_wait", Source.WORKER, "how long a job had waited for the turn it got", WORK_BUCKETS_S, "lane", "class"
    ),
    _gauge("leases_held", "items", Source.WORKER, "items under way in this process"),
    _gauge("draining", "0 or 1", Source.WORKER, "whether this process claims nothing, as an operator wished"),
)

_GPU = (
    _gauge(
        "longest_pause_seconds",
        "seconds",
        Source.WORKER,
        "longest stop by the garbage collector since start",
        "process",
    ),
    _counter("audio_seconds", "seconds of audio", Source.GPU, "audio of committed segments", "origin"),
    _counter("segments", "segments", Source.GPU, "committed segments", "origin"),
    _counter("segment_packs", "packs", Source.GPU, "objects of several segments of a job, and tries at one", "outcome"),
    _counter("packed_segments", "segments", Source.GPU, "segments that lie in such an object"),
    _gauge("engine_slots", "slots", Source.GPU, "requests the engine speaks at a time"),
    _gauge("engine_active_requests", "requests", Source.GPU, "requests in slots"),
    _gauge("engine_waiting_requests", "requests", Source.GPU, "requests that wait for a slot"),
    _gauge("engine_batch_fill_ratio", "0 to 1", Source.GPU, "frames per step and slot, over the last two seconds"),
    _gauge("engine_step_seconds", "seconds", Source.GPU, "mean step over the last two seconds in which it was busy"),
    _counter("engine_steps", "steps", Source.GPU, "steps, each a codec frame of every request in a slot"),
    _counter("engine_frames", "codec frames", Source.GPU, "frames made, of 80 ms in the published models"),
    _counter("engine_finished_requests", "requests", Source.GPU, "requests that were spoken to their end"),
    _counter("engine_deaths", "processes", Source.GPU, "engine processes that ended without being asked to"),
    _gauge("postprocessors", "processes", Source.GPU, "processes beside the worker that judge and store speech"),
    _counter("postprocessor_deaths", "processes", Source.GPU, "such processes that ended without being asked to"),
    _counter("engine_codec_passes", "passes", Source.GPU, "codec passes on a GPU", "path"),
    _counter("gate_attempts", "attempts", Source.GPU, "utterances judged by the quality gate", "verdict"),
    _counter("gate_defects", "attempts", Source.GPU, "what the gate found", "defect"),
    _counter("gate_rerolls", "attempts", Source.GPU, "attempts made because another did not pass", "reason"),
    _counter("gate_exhausted", "segments", Source.GPU, "segments of which no attempt passed"),
    _counter("gate_judging_seconds", "seconds", Source.GPU, "wall time spent in judging"),
    _counter("voice_memory_lookups", "lookups", Source.GPU, "voices wanted by segments", "outcome"),
    _counter("voice_memory_loads", "voices", Source.GPU, "voices read from the store"),
    _counter("voice_memory_load_seconds", "seconds", Source.GPU, "time these reads took"),
    _counter("voice_memory_evictions", "voices", Source.GPU, "voices dropped for room"),
    _gauge("voice_memory_voices", "voices", Source.GPU, "voices in memory"),
    _gauge("voice_memory_bytes", "bytes", Source.GPU, "memory they take"),
)

_LIVE_WORKER = (
    _gauge("live_places", "streams", Source.GPU, "live streams that this worker speaks at a time"),
    _gauge("live_places_taken", "streams", Source.GPU, "of these places, those that are taken"),
    _histogram(
        *("live_worker_first_audio", Source.GPU, "from a stream's order to its first audio at this worker"),
        *(FIRST_AUDIO_BUCKETS_S, "start"),
    ),
    _histogram(
        *("live_worker_frame", Source.GPU, "what the engine took for a frame of a live stream whose text was there"),
        FRAME_BUCKETS_S,
    ),
    _counter(
        *("live_worker_streams", "streams", Source.GPU),
        *("live streams that ended here: `done`, `found` by the live gate, or the code of what ended them", "outcome"),
    ),
    _counter(
        *("live_worker_underruns", "gaps", Source.GPU),
        "times that a listener without a buffer would have run dry while the text was there",
    ),
)

_HOOKS = (
    _counter("webhook_attempts", "attempts", Source.HOOKS, "attempts at deliveries", "outcome", "reason"),
    _histogram("webhook_attempt_duration", Source.HOOKS, "one attempt, connect to answer", REQUEST_BUCKETS_S),
    _gauge("webhook_attempts_in_progress", "attempts", Source.HOOKS, "attempts under way in this process"),
)

_JANITOR = (
    _gauge("janitor_leader", "0 or 1", Source.JANITOR, "whether this janitor holds the lock and works"),
    _counter("janitor_swept", "items or jobs", Source.JANITOR, "what the clock decided", "kind"),
    _counter("tickets_topped_up", "tickets", Source.JANITOR, "tickets replaced from the counts", "queue"),
    _counter("janitor_chore_failures", "runs", Source.JANITOR, "chores that failed or were put off", "chore"),
)

CATALOGUE = {
    spec.name: spec for spec in (*_EVERY, *_API, *_LIVE, *_FLEET, *_WORKER, *_GPU, *_LIVE_WORKER, *_HOOKS, *_JANITOR)
}
