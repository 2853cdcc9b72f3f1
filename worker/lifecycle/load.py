"""What a worker of either lane does at the moment, for the worker registry and for its metrics."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from rhapsode.contract.operators.fleet import VoiceMemory
from storage.queue.worker_registry import WorkerReport
from storage.runtime.observability.metrics import Snapshot
from worker.engine.heap import PauseMeter
from worker.lifecycle.live.processes import LiveProcesses
from worker.lifecycle.speech_lane import SpeechLane
from worker.metrics import add_engine, add_items
from worker.services import WorkerServices


@dataclass(frozen=True, slots=True)
class WorkerLoad:
    """Any thread may ask."""

    worker: WorkerServices
    speech: SpeechLane | None = None
    pauses: PauseMeter = field(default_factory=PauseMeter)

    def now(self, report: WorkerReport) -> WorkerReport:
        held = self.worker.leases.num_held
        if self.speech is None:
            return replace(report, leases=held)
        addresses = self.speech.live.addresses()
        meter, memory = self.speech.meter, self.speech.services.voices.cache.stats()
        return replace(
            report,
            leases=held + self.speech.fronts.num_held,
            slots=meter.slots,
            engine=meter.report(),
            voice_cache=VoiceMemory(voices=memory.voices, bytes=memory.bytes, hits=memory.hits, misses=memory.misses),
            live=next(iter(addresses), None),
            more_live=addresses[1:],
        )

    def measure(self, snapshot: Snapshot) -> None:
        snapshot.add("rhapsode_leases_held", self.worker.leases.num_held)
        snapshot.add("rhapsode_draining", self.worker.draining.is_set())
        snapshot.add("rhapsode_longest_pause_seconds", self.pauses.longest_s, process="worker")
        if self.speech is None:
            return
        live = self.speech.live
        add_engine(snapshot, self.speech.meter)
        add_items(snapshot, self.speech.services)
        snapshot.add("rhapsode_live_places", live.num_places)
        snapshot.add("rhapsode_live_places_taken", live.num_streams)
        if isinstance(live, LiveProcesses):
            snapshot.add("rhapsode_longest_pause_seconds", live.longest_pause_s, process="live")
