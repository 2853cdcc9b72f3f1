"""All metrics: name with its unit, kind, labels and meaning. A process exports no others.

`python -m storage.runtime.observability.metric_table` makes docker/prometheus/METRICS.md from this file. Alerts and
dashboards use only these. No label contains a tenant, a job or a text; operators group tenants into classes.
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
    API = "the API"
    FLEET = "the API, for the whole system"
    WORKER = "workers"
    GPU = "GPU workers"
    HOOKS = "webhook workers"
    JANITOR = "the janitor"


CALL_BUCKETS_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.0, 10.0)
REQUEST_BUCKETS_S = (0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0)
FIRST_AUDIO_BUCKETS_S = (0.005, 0.01, 0.015, 0.02, 0.025, 0.035, 0.05, 0.08, 0.15, 0.4, 1.0, 5.0)
FRAME_BUCKETS_S = (0.0025, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.04, 0.06, 0.08, 0.16, 0.5)
WORK_BUCKETS_S = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0, 600.0)


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """name: without `_total`, which a counter's samples get."""

    name: str
    kind: Kind
    source: Source
    meaning: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()

    @property
    def sample(self) -> str:
        """The name that rules and dashboards use."""
        return f"{self.name}_total" if self.kind is Kind.COUNTER else self.name


def _counter(name: str, source: Source, meaning: str, *labels: str) -> MetricSpec:
    return MetricSpec(f"rhapsode_{name}", Kind.COUNTER, source, meaning, labels)


def _gauge(name: str, source: Source, meaning: str, *labels: str) -> MetricSpec:
    return MetricSpec(f"rhapsode_{name}", Kind.GAUGE, source, meaning, labels)


def _histogram(name: str, source: Source, meaning: str, buckets: tuple[float, ...], *labels: str) -> MetricSpec:
    return MetricSpec(f"rhapsode_{name}_seconds", Kind.HISTOGRAM, source, meaning, labels, buckets)


_EVERY = (
    _gauge("process_info", Source.EVERY, "the process exists", "role", "name", "version"),
    _histogram(
        *("redis_call_duration", Source.EVERY, "time of a Redis function, with its wait"),
        *(CALL_BUCKETS_S, "script"),
    ),
    _counter("redis_call_errors", Source.EVERY, "Redis functions that failed", "script"),
    _histogram(
        *("artifact_call_duration", Source.EVERY, "time of an object store call"),
        *(CALL_BUCKETS_S, "operation", "store"),
    ),
    _counter("artifact_call_errors", Source.EVERY, "object store calls that failed", "operation", "store"),
    _counter("artifact_written_bytes", Source.EVERY, "bytes written to the store", "store"),
    _gauge("background_tasks_down", Source.EVERY, "background tasks that failed and have not restarted", "task"),
    _counter("background_task_failures", Source.EVERY, "failures of background tasks", "task"),
    _counter("tickets_unsent", Source.EVERY, "tickets that the broker rejected; the janitor replaces them"),
)

_API = (
    _counter("http_requests", Source.API, "answered requests", "method", "route", "status"),
    _histogram("http_request_duration", Source.API, "time until the answer's headers", REQUEST_BUCKETS_S, "route"),
    _gauge("http_requests_in_progress", Source.API, "active requests and streams"),
    _counter("journal_dropped_jobs", Source.API, "accepted jobs missing in the journal because it was full"),
    _gauge("live_sockets", Source.API, "open WebSockets of `/v1/audio/speech/ws`"),
    _gauge("followers", Source.API, "clients that wait for a job or its events"),
    _counter("follow_losses", Source.API, "lost connections for events"),
    _counter("http_refusals", Source.API, "requests refused with 429 or 503", "code"),
)

_LIVE = (
    _gauge("live_streams", Source.API, "open live streams", "tenant_class"),
    _histogram(
        *("live_first_audio", Source.API, "time from an accepted request to its first audio"),
        *(FIRST_AUDIO_BUCKETS_S, "tenant_class"),
    ),
    _counter(
        *("live_ended_streams", Source.API, "ended live streams: `done`, `cancelled` or an error code"),
        *("tenant_class", "outcome"),
    ),
    _counter(
        *("live_underruns", Source.API, "underruns for clients without a buffer while the text was complete"),
        "tenant_class",
    ),
    _counter("live_audio_seconds", Source.API, "audio of ended live streams", "tenant_class"),
    _counter("live_lost_workers", Source.API, "live streams that lost their worker", "reason"),
    _counter("live_resumed_streams", Source.API, "live streams that continued on another worker", "reason"),
    _gauge(
        "live_lateness_seconds",
        Source.API,
        "mean delay of the event loop; above `RHAPSODE_LIVE_LATENESS_S` live requests are refused",
    ),
)

_FLEET = (
    _gauge("fleet_up", Source.FLEET, "Redis answered this scrape (0 or 1)"),
    _gauge(
        *("backlog_audio_seconds", Source.FLEET, "expected audio of accepted, unspoken text"),
        *("queue", "lane", "class"),
    ),
    _gauge("queue_ready_items", Source.FLEET, "claimable items", "queue", "lane"),
    _gauge("queue_waiting_jobs", Source.FLEET, "jobs with claimable items", "queue", "lane", "class"),
    _gauge("queue_oldest_wait_seconds", Source.FLEET, "longest wait of such a job", "queue", "lane", "class"),
    _gauge("queue_pace_ratio", Source.FLEET, "audio seconds committed per second", "queue", "lane"),
    _gauge("worker_slots", Source.FLEET, "items that live workers process in parallel", "queue", "lane"),
    _gauge("workers", Source.FLEET, "worker processes that reported in the last minute", "role", "state"),
    _gauge(
        *("tenant_class_backlog_audio_seconds", Source.FLEET, "expected audio of unfinished jobs with claimable items"),
        "tenant_class",
    ),
    _gauge("tenant_class_jobs", Source.FLEET, "unfinished jobs of tenants with claimable items", "tenant_class"),
    _gauge(
        *("tenant_class_oldest_wait_seconds", Source.FLEET, "longest wait among the queue's hundred longest"),
        *("queue", "lane", "class", "tenant_class"),
    ),
    _gauge("leases", Source.FLEET, "items under lease"),
    _gauge("retries_waiting", Source.FLEET, "items that wait for a retry"),
    _gauge("unfinished_jobs", Source.FLEET, "unfinished jobs"),
    _gauge("scheduled_jobs", Source.FLEET, "unfinished jobs that wait for their start time"),
    _gauge("dead_letters", Source.FLEET, "failed items that no operator has removed"),
    _gauge("claims_held", Source.FLEET, "claims are stopped until Redis is reconciled (0 or 1)"),
    _gauge("counter_drift", Source.FLEET, "wrong counters in the last audit; must be 0"),
    _gauge("audit_age_seconds", Source.FLEET, "time since the last complete audit"),
)

_WORKER = (
    _counter("items", Source.WORKER, "claimed items by outcome", "kind", "outcome"),
    _histogram("item_duration", Source.WORKER, "time from claim to outcome", WORK_BUCKETS_S, "kind"),
    _histogram("claim_wait", Source.WORKER, "time that a job waited for its turn", WORK_BUCKETS_S, "lane", "class"),
    _gauge("leases_held", Source.WORKER, "items in this process"),
    _gauge("draining", Source.WORKER, "an operator drains this process (0 or 1)"),
    _gauge("longest_pause_seconds", Source.WORKER, "longest garbage collection pause since start", "process"),
)

_GPU = (
    _counter("audio_seconds", Source.GPU, "audio of committed segments", "origin"),
    _counter("segments", Source.GPU, "committed segments", "origin"),
    _counter("segment_packs", Source.GPU, "objects with several segments, by outcome", "outcome"),
    _counter("packed_segments", Source.GPU, "segments in such objects"),
    _gauge("engine_slots", Source.GPU, "requests that the engine serves in parallel"),
    _gauge("engine_active_requests", Source.GPU, "requests in slots"),
    _gauge("engine_waiting_requests", Source.GPU, "requests that wait for a slot"),
    _gauge("engine_batch_fill_ratio", Source.GPU, "share of slots in use, last two seconds (0 to 1)"),
    _gauge("engine_step_seconds", Source.GPU, "mean busy step, last two seconds"),
    _counter("engine_steps", Source.GPU, "steps: one codec frame for each active request"),
    _counter("engine_frames", Source.GPU, "codec frames (80 ms in published models)"),
    _counter("engine_finished_requests", Source.GPU, "completed requests"),
    _counter("engine_deaths", Source.GPU, "engine processes that crashed"),
    _gauge("postprocessors", Source.GPU, "processes that check and store speech"),
    _counter("postprocessor_deaths", Source.GPU, "such processes that crashed"),
    _counter("engine_codec_passes", Source.GPU, "codec passes on a GPU", "path"),
    _gauge("engine_codec_waiting_frames", Source.GPU, "frames not decoded yet"),
    _gauge("decoder_waiting_frames", Source.GPU, "frames in a decoder worker"),
    _counter("gate_attempts", Source.GPU, "utterances judged by the quality gate", "verdict"),
    _counter("gate_defects", Source.GPU, "attempts with a defect", "defect"),
    _counter("gate_rerolls", Source.GPU, "retries after a failed attempt", "reason"),
    _counter("gate_exhausted", Source.GPU, "segments without a passing attempt"),
    _counter("gate_judging_seconds", Source.GPU, "wall time of judging"),
    _counter("voice_memory_lookups", Source.GPU, "voices requested by segments", "outcome"),
    _counter("voice_memory_loads", Source.GPU, "voices loaded from the store"),
    _counter("voice_memory_load_seconds", Source.GPU, "time of these loads"),
    _counter("voice_memory_evictions", Source.GPU, "voices evicted from memory"),
    _gauge("voice_memory_voices", Source.GPU, "voices in memory"),
    _gauge("voice_memory_bytes", Source.GPU, "memory of voices"),
)

_LIVE_WORKER = (
    _gauge("live_places", Source.GPU, "live streams that this worker serves in parallel"),
    _gauge("live_places_taken", Source.GPU, "live places in use"),
    _histogram(
        *("live_worker_first_audio", Source.GPU, "time from order to first audio in this worker"),
        *(FIRST_AUDIO_BUCKETS_S, "start"),
    ),
    _histogram("live_worker_frame", Source.GPU, "engine time for a live frame with text available", FRAME_BUCKETS_S),
    _counter(
        *("live_worker_streams", Source.GPU, "ended live streams: `done`, `found` (by the live gate) or an error code"),
        "outcome",
    ),
    _counter("live_worker_underruns", Source.GPU, "underruns for clients without a buffer while text was available"),
)

_HOOKS = (
    _counter("webhook_attempts", Source.HOOKS, "delivery attempts", "outcome", "reason"),
    _histogram("webhook_attempt_duration", Source.HOOKS, "time from connect to answer", REQUEST_BUCKETS_S),
    _gauge("webhook_attempts_in_progress", Source.HOOKS, "active attempts"),
)

_JANITOR = (
    _gauge("janitor_leader", Source.JANITOR, "this janitor holds the lock (0 or 1)"),
    _counter("janitor_swept", Source.JANITOR, "items or jobs whose time expired", "kind"),
    _counter("tickets_topped_up", Source.JANITOR, "replaced tickets", "queue"),
    _counter("janitor_chore_failures", Source.JANITOR, "chores that failed or were postponed", "chore"),
)

CATALOGUE = {
    spec.name: spec for spec in (*_EVERY, *_API, *_LIVE, *_FLEET, *_WORKER, *_GPU, *_LIVE_WORKER, *_HOOKS, *_JANITOR)
}
