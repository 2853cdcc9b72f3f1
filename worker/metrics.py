"""What a worker process measures of its items, and what its engine, gate and voices count, under their names."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from storage.ids import WorkQueue
from storage.jobs.batches import BatchSpec
from storage.jobs.work_items import ASSEMBLE_ITEM, PLAN_ITEM, ClaimedItem
from storage.jobs.work_queues import CPU_QUEUE
from storage.narration.voice_reference import VoiceCacheSpec
from storage.runtime.observability.metrics import Snapshot, counter, histogram
from worker.process.engine_meter import EngineMeter
from worker.services import SpeechServices

_ITEMS = counter("rhapsode_items")
_ITEM_DURATION = histogram("rhapsode_item_duration_seconds")
_CLAIM_WAIT = histogram("rhapsode_claim_wait_seconds")
_AUDIO = counter("rhapsode_audio_seconds")
_SEGMENTS = counter("rhapsode_segments")


def kind_of(item: ClaimedItem) -> str:
    """plan, assemble, voice, chunk or segment."""
    if item.lease.item in (PLAN_ITEM, ASSEMBLE_ITEM):
        return item.lease.item
    match item.spec:
        case VoiceCacheSpec():
            return "voice"
        case BatchSpec():
            return "chunk"
        case _:
            return "segment"


class ItemMeter:
    """Measures one item from its claim to its outcome, which is `done` unless it is said otherwise."""

    def __init__(self, item: ClaimedItem, queue: WorkQueue) -> None:
        self.outcome = "done"
        self.kind = kind_of(item)
        self._started_s = time.perf_counter()
        _CLAIM_WAIT.labels(lane_of(queue), item.job_class.value).observe(item.waited_ms / 1000)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _ITEMS.labels(self.kind, "lost" if error else self.outcome).inc()
        _ITEM_DURATION.labels(self.kind).observe(time.perf_counter() - self._started_s)


def committed(num_samples: int, sample_rate_hz: int, *, was_reused: bool) -> None:
    """A segment counts from now on."""
    origin = "reused" if was_reused else "spoken"
    _SEGMENTS.labels(origin).inc()
    _AUDIO.labels(origin).inc(num_samples / sample_rate_hz)


def lane_of(queue: WorkQueue) -> str:
    return "cpu" if queue == CPU_QUEUE else "gpu"


def add_items(snapshot: Snapshot, services: SpeechServices) -> None:
    """Of one front: a worker's are added up."""
    snapshot.add("rhapsode_postprocessors", services.postprocessor.num_processes)
    stats = services.voices.cache.stats()
    snapshot.add("rhapsode_voice_memory_lookups", stats.hits, outcome="hit")
    snapshot.add("rhapsode_voice_memory_lookups", stats.misses, outcome="miss")
    snapshot.add("rhapsode_voice_memory_loads", stats.loads)
    snapshot.add("rhapsode_voice_memory_load_seconds", stats.load_s)
    snapshot.add("rhapsode_voice_memory_evictions", stats.evictions)
    snapshot.add("rhapsode_voice_memory_voices", stats.voices)
    snapshot.add("rhapsode_voice_memory_bytes", stats.bytes)


def add_engine(snapshot: Snapshot, meter: EngineMeter) -> None:
    now, total, pace = meter.now(), meter.total, meter.pace
    snapshot.add("rhapsode_engine_slots", meter.slots)
    snapshot.add("rhapsode_engine_active_requests", now.active)
    snapshot.add("rhapsode_engine_waiting_requests", now.waiting)
    snapshot.add("rhapsode_engine_batch_fill_ratio", pace.batch_fill or 0.0)
    snapshot.add("rhapsode_engine_step_seconds", pace.step_s or 0.0)
    snapshot.add("rhapsode_longest_pause_seconds", now.longest_pause_s, process="engine")
    snapshot.add("rhapsode_engine_steps", total.steps)
    snapshot.add("rhapsode_engine_frames", total.frames)
    snapshot.add("rhapsode_engine_finished_requests", total.finished)
    snapshot.add("rhapsode_engine_deaths", meter.deaths)
    snapshot.add("rhapsode_engine_codec_passes", total.codec_graph_passes, path="graph")
    snapshot.add("rhapsode_engine_codec_passes", total.codec_fallbacks, path="fallback")
    snapshot.add("rhapsode_engine_codec_waiting_frames", now.codec_waiting_frames)
