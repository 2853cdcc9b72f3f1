"""What the work needs, put together once at start."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from storage.ids import WorkQueue
from storage.job_store.plan_cache import PlanCache, VoicePlanCache
from storage.job_store.segment_reuse import ReuseIndex
from storage.job_store.store import JobStore
from storage.jobs.work_items import WorkerIdentity
from storage.objects.store import ArtifactStore
from storage.queue.celery_queue import TicketQueue
from storage.queue.model_registry import ModelRegistry
from storage.voices.store import VoiceStore
from worker.engine.interface import Engine
from worker.items.leases.claim_ahead import ClaimAhead
from worker.items.leases.keeper import LeaseKeeper
from worker.items.leases.quarantine import QuarantineGate
from worker.speech.postprocessing.interface import PostProcessor
from worker.speech.postprocessing.packing import SegmentPacker
from worker.speech.quality.gate import QualityGate
from worker.speech.quality.norms_cache import NormsCache
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
    models: ModelRegistry
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
class SpeechServices:
    """For the lane that speaks.

    norms: what is usual in the jobs under way. reuse: where segments of earlier jobs lie. ahead: how much may be
    claimed that is not spoken yet. postprocessor: who judges and stores what was spoken. packer: what is stored
    together.
    """

    worker: WorkerServices
    engine: Engine
    ahead: ClaimAhead
    voices: VoiceResolver
    quality: QualityGate
    norms: NormsCache
    reuse: ReuseIndex
    postprocessor: PostProcessor
    packer: SegmentPacker
