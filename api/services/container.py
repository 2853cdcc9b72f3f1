"""Everything a route may use, built once from the settings."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import redis
from anyio import CapacityLimiter, to_thread
from anyio.to_thread import current_default_thread_limiter

from api.http.connection_shares import ConnectionShares
from api.http.open_sockets import OpenSockets
from api.identity.identities import Identities, open_identities
from api.live.patience import LivePatience
from api.live.speech import LiveSpeech, open_live
from api.services.intake import JobIntake, Recordings
from api.services.jobs_together import JobsTogether
from api.services.webhooks import WebhookServices, open_webhooks
from api.settings import ApiSettings
from storage.database.connections import connect_redis, connect_redis_async, open_artifacts
from storage.ids import TenantId
from storage.job_store.control import JobControl
from storage.job_store.following.feeds import EventFeeds, open_event_feeds
from storage.job_store.idempotent_responses import IdempotentResponses
from storage.job_store.plan_cache import ChapterFileCache, PlanCache
from storage.job_store.queue_position import QueuePositions
from storage.job_store.segment_reads import SegmentReader
from storage.job_store.store import JobStore
from storage.objects.patience import FOR_REQUESTS
from storage.objects.store import ArtifactStore
from storage.pronunciations.store import PronunciationStore
from storage.queue.celery_queue import TicketQueue, create_celery
from storage.queue.dead_letters import DeadLetters
from storage.queue.fleet_history import FleetHistoryStore
from storage.queue.model_registry import ModelRegistry
from storage.queue.overview import QueueOverviews
from storage.queue.recent_models import RecentModels
from storage.queue.worker_registry import WorkerRegistry
from storage.queue.worker_slots import WorkerSlots
from storage.recovery.audit_log import AuditLog
from storage.recovery.journal import Journal
from storage.recovery.state_guard import StateGuard
from storage.tenants.api_keys import ApiKeyStore
from storage.tenants.live_streams import LiveStreamLedger
from storage.tenants.quotas import QuotaStore, admission_limits, quotas_of
from storage.tenants.rate_limits import CallerGate
from storage.tenants.usage import UsageLedger
from storage.voices.store import VoiceStore
from storage.webhooks.deliveries import WebhookQueue
from storage.webhooks.http import safe_client
from storage.webhooks.store import WebhookStore

LOCAL_TENANT = TenantId("local")
"""Whose jobs they are where no keys are configured."""


MAX_ENCODERS = 2
"""Segments being encoded at the same time for those who listen: each takes a core for a tenth of a second."""


MAX_LIVE_ENCODERS = 4
"""Chunks being encoded at the same time for those who hear speech while it is made: each takes a core for some
milliseconds, and does not wait for the segments of `MAX_ENCODERS`."""


MAX_PROBES = 2
"""Questions for readiness that are answered at the same time. Their threads are their own: requests may have taken all
others."""


GOODBYES_S = 1.0
"""For WebSockets to be closed once nothing is spoken any more. Who reads nothing is not waited for."""

REQUEST_THREADS = 40
"""In which requests are worked on, beside those that wait for the object store."""


@dataclass(frozen=True, slots=True)
class ApiServices:
    settings: ApiSettings
    redis: redis.Redis
    jobs: JobStore
    control: JobControl
    segments: SegmentReader
    plans: PlanCache
    chapter_files: ChapterFileCache
    events: EventFeeds
    jobs_together: JobsTogether
    callers: CallerGate
    api_keys: ApiKeyStore
    identities: Identities | None
    idempotent_responses: IdempotentResponses
    quotas: QuotaStore
    usage: UsageLedger
    artifacts: ArtifactStore
    tickets: TicketQueue
    models: ModelRegistry
    recent_models: RecentModels
    worker_slots: WorkerSlots
    worker_registry: WorkerRegistry
    queue_overviews: QueueOverviews
    fleet_history: FleetHistoryStore
    guard: StateGuard
    dead_letters: DeadLetters
    audit_log: AuditLog
    intake: JobIntake
    voices: VoiceStore
    webhooks: WebhookServices
    encoders: CapacityLimiter
    live_encoders: CapacityLimiter
    probes: CapacityLimiter
    live: LiveSpeech
    shares: ConnectionShares
    sockets: OpenSockets

    async def drain(self, is_hurried: Callable[[], bool]) -> None:
        """Before the server stops: no speech begins any more, what is spoken is heard, and sockets are told goodbye."""
        self.sockets.stop()
        await self.live.drain(is_hurried)
        await self.sockets.emptied(GOODBYES_S)


@asynccontextmanager
async def open_services(settings: ApiSettings) -> AsyncGenerator[ApiServices]:
    """Connects nothing yet: an API that starts before its stores answers 503 until they are there."""
    client = connect_redis(settings)
    event_client = connect_redis_async(settings)
    tickets = TicketQueue(create_celery(settings, "rhapsode-api"))
    artifacts = open_artifacts(settings, FOR_REQUESTS)
    current_default_thread_limiter().total_tokens = REQUEST_THREADS + FOR_REQUESTS.places
    journal = Journal(artifacts, settings.key_prefix)
    worker_registry = WorkerRegistry(client, settings.key_prefix)
    recent_models = RecentModels(client, settings.key_prefix)
    streams = LiveStreamLedger(event_client, settings.key_prefix, settings.quota_jobs)
    try:
        patience = LivePatience(
            resume_s=settings.live_resume_s,
            drain_s=settings.live_drain_s,
            lateness_s=settings.live_lateness_s,
            slowest_pace=settings.live_slowest_pace,
        )
        live_speech = open_live(
            worker_registry, recent_models, streams, settings.tls_files, patience, settings.class_of
        )
        async with live_speech as live, open_event_feeds(event_client, settings.key_prefix) as events:
            jobs = JobStore(
                client, settings.key_prefix, admission_limits(settings), accept_replicas=settings.accept_replicas
            )
            intake = JobIntake(
                settings=settings,
                models=ModelRegistry(client, settings.key_prefix),
                voices=VoiceStore(client, settings.key_prefix, settings.quota_voices),
                pronunciations=PronunciationStore(client, settings.key_prefix),
                webhooks=open_webhooks(
                    WebhookStore(client, settings.key_prefix), WebhookQueue(client, settings.key_prefix), settings
                ),
                recordings=Recordings(safe_client()),
                artifacts=artifacts,
                jobs=jobs,
                queue_positions=QueuePositions(client, settings.key_prefix, accept_replicas=settings.accept_replicas),
                journal=journal,
                tickets=tickets,
            )
            shares = ConnectionShares(settings.max_connections)
            yield ApiServices(
                settings=settings,
                redis=client,
                jobs=jobs,
                control=JobControl(client, settings.key_prefix, admission_limits(settings)),
                segments=SegmentReader(client, settings.key_prefix),
                plans=PlanCache(artifacts),
                chapter_files=ChapterFileCache(artifacts),
                events=events,
                jobs_together=JobsTogether(jobs, intake.queue_positions),
                callers=CallerGate(event_client, settings.key_prefix, settings.rate_limit),
                api_keys=ApiKeyStore(client, settings.key_prefix),
                identities=open_identities(settings.token_rules, safe_client(settings.oidc_allow_private)),
                idempotent_responses=IdempotentResponses(event_client, settings.key_prefix),
                quotas=QuotaStore(client, quotas_of(settings), settings.key_prefix),
                usage=UsageLedger(client, settings.key_prefix),
                artifacts=artifacts,
                tickets=tickets,
                models=intake.models,
                recent_models=recent_models,
                worker_slots=WorkerSlots(client, settings.key_prefix),
                worker_registry=worker_registry,
                queue_overviews=QueueOverviews(client, settings.key_prefix),
                fleet_history=FleetHistoryStore(client, settings.key_prefix),
                guard=StateGuard(client, artifacts, settings.key_prefix),
                dead_letters=DeadLetters(client, settings.key_prefix),
                audit_log=AuditLog(client, settings.key_prefix),
                intake=intake,
                voices=intake.voices,
                webhooks=intake.webhooks,
                encoders=CapacityLimiter(MAX_ENCODERS),
                live_encoders=CapacityLimiter(MAX_LIVE_ENCODERS),
                probes=CapacityLimiter(MAX_PROBES),
                live=live,
                shares=shares,
                sockets=OpenSockets(shares),
            )
    finally:
        await to_thread.run_sync(journal.close)
        tickets.close()
        await event_client.aclose()
        client.close()
