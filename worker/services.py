"""What the work needs, put together once at start."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from storage.artifacts import ArtifactStore
from storage.job_store import JobStore
from storage.plan_cache import PlanCache, VoicePlanCache
from storage.queue import TicketQueue
from storage.segment_reuse import ReuseIndex
from storage.voice_store import VoiceStore
from storage.work_items import WorkerIdentity
from storage.work_queues import WorkQueue
from worker.claim_ahead import ClaimAhead
from worker.engine.interface import Engine
from worker.finishing.finisher import Finisher
from worker.leases import LeaseKeeper
from worker.norms import NormsCache
from worker.quality.counters import GateCounters
from worker.quality.gate import QualityGate
from worker.quarantine import QuarantineGate
from worker.voices.resolving import VoiceResolver


@dataclass(frozen=True, slots=True)
class WorkerServices:
    """For every lane.

    queue: where this worker's items wait.
    closing: set when the process is asked to leave; from then on nothing new is claimed.
    draining: set while an operator wishes that nothing is claimed.
    """

    identity: WorkerIdentity
    queue: WorkQueue
    jobs: JobStore
    artifacts: ArtifactStore
    tickets: TicketQueue
    leases: LeaseKeeper
    plans: PlanCache
    voice_store: VoiceStore
    voice_plans: VoicePlanCache
    lease_s: float
    closing: threading.Event
    gate: QuarantineGate
    draining: threading.Event = field(default_factory=threading.Event, kw_only=True)

    @property
    def claims(self) -> bool:
        """Whether something new may be claimed."""
        return not self.closing.is_set() and not self.draining.is_set()


@dataclass(frozen=True, slots=True)
class SpeechServices(WorkerServices):
    """For the lane that speaks.

    counters: what the quality gate found since the start. norms: what is usual in the jobs under way. reuse: where
    segments of earlier jobs lie. ahead: how much may be claimed that is not spoken yet. finisher: who judges and stores
    what was spoken.
    """

    engine: Engine
    ahead: ClaimAhead
    voices: VoiceResolver
    quality: QualityGate
    counters: GateCounters
    norms: NormsCache
    reuse: ReuseIndex
    finisher: Finisher
