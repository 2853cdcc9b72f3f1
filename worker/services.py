"""What the work needs, put together once at start."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from storage.artifacts import ArtifactStore
from storage.job_store import JobStore
from storage.jobs import WorkerIdentity
from storage.queue import TicketQueue
from worker.engine.interface import Engine
from worker.leases import LeaseKeeper
from worker.plan_cache import PlanCache
from worker.quarantine import QuarantineGate


@dataclass(frozen=True, slots=True)
class WorkerServices:
    """For every lane.

    closing: set when the process is asked to leave; from then on nothing new is claimed.
    """

    identity: WorkerIdentity
    jobs: JobStore
    artifacts: ArtifactStore
    tickets: TicketQueue
    leases: LeaseKeeper
    plans: PlanCache
    lease_s: float
    closing: threading.Event
    gate: QuarantineGate


@dataclass(frozen=True, slots=True)
class SpeechServices(WorkerServices):
    """For the lane that speaks. `model` is the name under which jobs ask for this engine's checkpoint."""

    engine: Engine
    model: str
