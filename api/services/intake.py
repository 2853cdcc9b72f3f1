"""What a job needs until it is accepted, and what recordings that callers name are read with."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from anyio import CapacityLimiter
from anyio.lowlevel import EventLoopToken, current_token

from api.services.webhooks import WebhookServices
from api.settings import ApiSettings
from storage.job_store.queue_position import QueuePositions
from storage.job_store.store import JobStore
from storage.objects.store import ArtifactStore
from storage.pronunciations.store import PronunciationStore
from storage.queue.celery_queue import TicketQueue
from storage.queue.model_registry import ModelRegistry
from storage.queue.recent_models import RecentModels
from storage.recovery.journal import Journal
from storage.runtime.egress.client import SafeHttp
from storage.voices.store import VoiceStore

MAX_DECODERS = 2
"""Recordings being decoded at the same time: each is a process that may take a core and a gibibyte."""

MAX_FETCHES = 8
"""Recordings fetched at the same time from addresses that callers name, each in a thread of a request for 15 s at
most."""


@dataclass(frozen=True, slots=True)
class Recordings:
    """http: fetches those that callers name by address, from the internet alone. loop: of the process."""

    http: SafeHttp
    fetches: threading.BoundedSemaphore = field(default_factory=lambda: threading.BoundedSemaphore(MAX_FETCHES))
    decoders: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(MAX_DECODERS))
    loop: EventLoopToken = field(default_factory=current_token)


@dataclass(frozen=True, slots=True)
class JobIntake:
    """Where the facts about a new job are looked up, and where the job is stored."""

    settings: ApiSettings
    models: ModelRegistry
    recent_models: RecentModels
    voices: VoiceStore
    pronunciations: PronunciationStore
    webhooks: WebhookServices
    recordings: Recordings
    artifacts: ArtifactStore
    jobs: JobStore
    queue_positions: QueuePositions
    journal: Journal
    tickets: TicketQueue
