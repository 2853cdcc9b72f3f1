"""What a worker of either lane does at the moment, for the worker registry and for its metrics."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from storage.queue.worker_registry import VoiceCacheReport
from storage.runtime.observability.metrics import Snapshot
from worker.engine.heap import PauseMeter
from worker.metrics import add_engine, add_gate, add_live, add_postprocessors, add_voice_memory
from worker.process.engine_meter import EngineMeter
from worker.process.reporting import ProcessLoad
from worker.services import SpeechServices, WorkerServices

if TYPE_CHECKING:
    # It loads what reads texts, which the other lane does elsewhere.
    from worker.live.server import LiveServer


@dataclass(frozen=True, slots=True)
class WorkerLoad:
    """meter, live: of the lane that speaks. Any thread may ask."""

    services: WorkerServices
    meter: EngineMeter | None = None
    live: LiveServer | None = None
    pauses: PauseMeter = field(default_factory=PauseMeter)

    def now(self) -> ProcessLoad:
        held = self.services.leases.num_held
        if not isinstance(self.services, SpeechServices) or self.meter is None:
            return ProcessLoad(leases=held)
        memory = self.services.voices.cache.stats()
        return ProcessLoad(
            leases=held,
            slots=self.meter.slots,
            engine=self.meter.report(),
            voice_cache=VoiceCacheReport(memory.voices, memory.bytes, memory.hits, memory.misses),
            live=None if self.live is None else self.live.address(),
        )

    def measure(self, snapshot: Snapshot) -> None:
        snapshot.add("rhapsode_leases_held", self.services.leases.num_held)
        snapshot.add("rhapsode_draining", self.services.draining.is_set())
        snapshot.add("rhapsode_longest_pause_seconds", self.pauses.longest_s, process="worker")
        if isinstance(self.services, SpeechServices) and self.meter is not None:
            add_engine(snapshot, self.meter)
            add_postprocessors(snapshot, self.services.postprocessor.report())
            add_gate(snapshot, self.services.counters.counts())
            add_voice_memory(snapshot, self.services.voices.cache.stats())
        if self.live is not None:
            add_live(snapshot, self.live.num_places, self.live.num_streams)
