"""Everything a route may use, built once from the settings."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import redis
from anyio import CapacityLimiter, to_thread
from anyio.to_thread import current_default_thread_limiter
from redis.asyncio import Redis as AsyncRedis

from api.http.connection_shares import ConnectionShares
from api.http.open_sockets import OpenSockets
from api.identity.identities import open_identities
from api.live.patience import LivePatience
from api.live.speech import LiveSpeech, open_live
from api.services.fleet_recorder import FleetRecorder, recording
from api.services.intake import JobIntake, Recordings
from api.services.jobs_together import JobsTogether
from api.services.webhooks import WebhookServices, open_webhooks
from api.settings import ApiLimits, ApiSettings
from storage.database.connections import connect_redis, connect_redis_async, open_artifacts
from storage.ids import TenantId
from storage.job_store.control import JobControl
from storage.job_store.following.feeds import EventFeeds, open_event_feeds
from storage.job_store.idempotent_responses import IdempotentResponses
from storage.job_store.plan_cache import ChapterFileCache, PlanCache
from storage.job_store.queue_position import QueuePositions
from storage.job_store.segment_reads import SegmentReader
from storage.job_store.store import JobStore
from storage.jobs.chapter_files import decode_chapter_files
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

if TYPE_CHECKING:
    from api.identity.tokens import TokenReader

LOCAL_TENANT = TenantId("local")
"""Whose jobs they are where no keys are configured."""

MAX_ENCODERS = 2
"""Segments being encoded at the same time for those who listen: each takes a core for a tenth of a second."""

MAX_LIVE_ENCODERS = 4
"""Chunks being encoded at the same time for live listeners. Each takes a core for some milliseconds, and does not wait
for the segments of `MAX_ENCODERS`.
"""

MAX_PROBES = 2
"""Questions for readiness that are answered at the same time. Their threads are their own: requests may have taken all
others."""

GOODBYES_S = 1.0
"""For WebSockets to be closed once nothing is spoken any more. Who reads nothing is not waited for."""

REQUEST_THREADS = 40
"""In which requests are worked on, beside those that wait for the object store."""


class Outages:
    """Remembers the first time of each reason until a probe no longer finds it. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._since: dict[str, datetime] = {}

    def seen(self, reasons: Iterable[str]) -> tuple[str, ...]:
        """The reasons that a probe found, each with the time of the first such probe."""
        with self._lock:
            now = datetime.now(UTC)
            self._since = {reason: self._since.get(reason, now) for reason in reasons if reason}
            return tuple(f"{reason} (since {at:%Y-%m-%dT%H:%M:%SZ})" for reason, at in self._since.items())


@dataclass(frozen=True, slots=True)
class JobServices:
    """Jobs after they were accepted: read, followed, listened to, changed."""

    store: JobStore
    control: JobControl
    segments: SegmentReader
    plans: PlanCache
    chapter_files: ChapterFileCache
    events: EventFeeds
    together: JobsTogether
    encoders: CapacityLimiter


@dataclass(frozen=True, slots=True)
class LiveServices:
    """Live speech, and the connections that stay open."""

    speech: LiveSpeech
    encoders: CapacityLimiter
    shares: ConnectionShares
    sockets: OpenSockets


@dataclass(frozen=True, slots=True)
class AccessServices:
    """Who may ask, how often, and what was answered to the same request before."""

    callers: CallerGate
    api_keys: ApiKeyStore
    identities: TokenReader | None
    idempotent_responses: IdempotentResponses


@dataclass(frozen=True, slots=True)
class OperatorServices:
    """Workers, queues, quotas, repairs and readiness."""

    quotas: QuotaStore
    usage: UsageLedger
    worker_registry: WorkerRegistry
    queue_overviews: QueueOverviews
    fleet_history: FleetHistoryStore
    guard: StateGuard
    dead_letters: DeadLetters
    audit_log: AuditLog
    probes: CapacityLimiter
    outages: Outages


@dataclass(frozen=True, slots=True)
class ApiServices:
    settings: ApiSettings
    limits: ApiLimits
    redis: redis.Redis
    artifacts: ArtifactStore
    tickets: TicketQueue
    models: ModelRegistry
    voices: VoiceStore
    webhooks: WebhookServices
    intake: JobIntake
    jobs: JobServices
    live: LiveServices
    access: AccessServices
    operators: OperatorServices

    async def drain(self, is_hurried: Callable[[], bool]) -> None:
        """Before the server stops: accept no new speech, let streams end, and close WebSockets."""
        self.live.sockets.stop()
        await self.live.speech.drain(is_hurried)
        await self.live.sockets.emptied(GOODBYES_S)


@asynccontextmanager
async def open_services(settings: ApiSettings, limits: ApiLimits) -> AsyncGenerator[ApiServices]:
    """Connects nothing yet: an API that starts before its stores answers 503 until they are there."""
    client = connect_redis(settings)
    event_client = connect_redis_async(settings)
    tickets = TicketQueue(create_celery(settings, "rhapsode-api"))
    artifacts = open_artifacts(settings, FOR_REQUESTS)
    threads = REQUEST_THREADS + FOR_REQUESTS.places
    current_default_thread_limiter().total_tokens = threads
    # For the frequent requests: a change of thread takes a third of what it takes in those of the framework.
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(threads, "requests"))
    journal = Journal(artifacts, settings.key_prefix)
    operators = _operators(settings, client, artifacts, WorkerRegistry(client, settings.key_prefix))
    recent_models = RecentModels(client, settings.key_prefix)
    recorder = FleetRecorder(
        *(operators.queue_overviews, operators.worker_registry, operators.dead_letters, operators.fleet_history)
    )
    try:
        async with (
            _open_live(settings, limits, event_client, operators.worker_registry, recent_models) as live,
            recording(recorder),
            open_event_feeds(event_client, settings.key_prefix) as events,
        ):
            intake = _intake(settings, client, artifacts, journal, tickets, recent_models)
            yield ApiServices(
                settings=settings,
                limits=limits,
                redis=client,
                artifacts=artifacts,
                tickets=tickets,
                models=intake.models,
                voices=intake.voices,
                webhooks=intake.webhooks,
                intake=intake,
                jobs=_jobs(settings, client, intake, events),
                live=live,
                access=AccessServices(
                    callers=CallerGate(event_client, settings.key_prefix, settings.rate_limit),
                    api_keys=ApiKeyStore(client, settings.key_prefix),
                    identities=open_identities(settings.token_rules, safe_client(settings.oidc_allow_private)),
                    idempotent_responses=IdempotentResponses(event_client, settings.key_prefix),
                ),
                operators=operators,
            )
    finally:
        await to_thread.run_sync(journal.close)
        tickets.close()
        await event_client.aclose()
        client.close()


@asynccontextmanager
async def _open_live(
    settings: ApiSettings,
    limits: ApiLimits,
    event_client: AsyncRedis,
    workers: WorkerRegistry,
    recent_models: RecentModels,
) -> AsyncGenerator[LiveServices]:
    streams = LiveStreamLedger(event_client, settings.key_prefix, settings.quota_jobs)
    patience = LivePatience(drain_s=settings.live_drain_s, lateness_s=limits.lateness_s)
    shares = ConnectionShares(limits.connections)
    async with open_live(workers, recent_models, streams, settings.tls_files, patience) as speech:
        yield LiveServices(speech, CapacityLimiter(MAX_LIVE_ENCODERS), shares, OpenSockets(shares))


def _intake(
    settings: ApiSettings,
    client: redis.Redis,
    artifacts: ArtifactStore,
    journal: Journal,
    tickets: TicketQueue,
    recent_models: RecentModels,
) -> JobIntake:
    prefix = settings.key_prefix
    return JobIntake(
        settings=settings,
        models=ModelRegistry(client, prefix),
        recent_models=recent_models,
        voices=VoiceStore(client, prefix, settings.quota_voices),
        pronunciations=PronunciationStore(client, prefix),
        webhooks=open_webhooks(WebhookStore(client, prefix), WebhookQueue(client, prefix), settings),
        recordings=Recordings(safe_client()),
        artifacts=artifacts,
        jobs=JobStore(client, prefix, admission_limits(settings), accept_replicas=settings.accept_replicas),
        queue_positions=QueuePositions(client, prefix),
        journal=journal,
        tickets=tickets,
    )


def _jobs(settings: ApiSettings, client: redis.Redis, intake: JobIntake, events: EventFeeds) -> JobServices:
    return JobServices(
        store=intake.jobs,
        control=JobControl(client, settings.key_prefix, admission_limits(settings)),
        segments=SegmentReader(client, settings.key_prefix),
        plans=PlanCache(intake.artifacts),
        chapter_files=ChapterFileCache(intake.artifacts, decode_chapter_files),
        events=events,
        together=JobsTogether(intake.jobs, intake.queue_positions),
        encoders=CapacityLimiter(MAX_ENCODERS),
    )


def _operators(
    settings: ApiSettings, client: redis.Redis, artifacts: ArtifactStore, workers: WorkerRegistry
) -> OperatorServices:
    prefix = settings.key_prefix
    return OperatorServices(
        quotas=QuotaStore(client, quotas_of(settings), prefix),
        usage=UsageLedger(client, prefix),
        worker_registry=workers,
        queue_overviews=QueueOverviews(client, prefix),
        fleet_history=FleetHistoryStore(client, prefix),
        guard=StateGuard(client, artifacts, prefix),
        dead_letters=DeadLetters(client, prefix),
        audit_log=AuditLog(client, prefix),
        probes=CapacityLimiter(MAX_PROBES),
        outages=Outages(),
    )
