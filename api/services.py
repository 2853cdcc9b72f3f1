"""Everything a route may use, built once from the settings."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import redis
from anyio import CapacityLimiter, to_thread

from api.settings import ApiSettings
from api.webhook_services import WebhookServices, open_webhooks
from storage.api_keys import ApiKeyStore
from storage.artifacts import ArtifactStore
from storage.audits import AuditLog
from storage.connections import connect_redis, connect_redis_async, open_artifacts
from storage.consent_store import ConsentStore
from storage.dead_items import DeadItems
from storage.events import AsyncEventLog
from storage.fleet import Fleet
from storage.job_control import JobControl
from storage.job_store import JobStore
from storage.jobs import TenantId
from storage.journal import Journal
from storage.models import ModelRegistry
from storage.overviews import Overviews
from storage.plan_cache import PlanCache
from storage.pronunciation_store import PronunciationStore
from storage.queue import TicketQueue, create_celery
from storage.queue_places import QueuePlaces
from storage.quotas import QuotaStore, admission_limits, quotas_of
from storage.rate_limits import CallerGate
from storage.replays import ReplayStore
from storage.roster import Roster
from storage.segment_states import SegmentReader
from storage.state_guard import StateGuard
from storage.stored_recount import StoredRecount
from storage.upload_ledger import UploadLedger
from storage.usage import UsageLedger
from storage.voice_store import VoiceStore
from storage.webhook_queue import WebhookQueue
from storage.webhook_store import WebhookStore

LOCAL_TENANT = TenantId("local")
"""Whose jobs they are where no keys are configured."""


MAX_DECODERS = 2
"""Recordings being decoded at the same time: each is a process that may take a core and a gibibyte."""


MAX_ENCODERS = 2
"""Segments being encoded at the same time for those who listen: each takes a core for a tenth of a second."""


@dataclass(frozen=True, slots=True)
class ApiServices:
    settings: ApiSettings
    redis: redis.Redis
    jobs: JobStore
    control: JobControl
    segments: SegmentReader
    plans: PlanCache
    places: QueuePlaces
    events: AsyncEventLog
    callers: CallerGate
    api_keys: ApiKeyStore
    replays: ReplayStore
    quotas: QuotaStore
    usage: UsageLedger
    artifacts: ArtifactStore
    tickets: TicketQueue
    models: ModelRegistry
    fleet: Fleet
    roster: Roster
    overviews: Overviews
    guard: StateGuard
    dead_items: DeadItems
    audits: AuditLog
    stored: StoredRecount
    journal: Journal
    voices: VoiceStore
    consents: ConsentStore
    uploads: UploadLedger
    pronunciations: PronunciationStore
    webhooks: WebhookServices
    decoders: CapacityLimiter
    encoders: CapacityLimiter


@asynccontextmanager
async def open_services(settings: ApiSettings) -> AsyncGenerator[ApiServices]:
    """Connects nothing yet: an API that starts before its stores answers 503 until they are there."""
    client = connect_redis(settings)
    event_client = connect_redis_async(settings)
    tickets = TicketQueue(create_celery(settings, "rhapsode-api"))
    artifacts = open_artifacts(settings)
    journal = Journal(artifacts, settings.key_prefix)
    try:
        yield ApiServices(
            settings=settings,
            redis=client,
            jobs=JobStore(client, settings.key_prefix, admission_limits(settings)),
            control=JobControl(client, settings.key_prefix, admission_limits(settings)),
            segments=SegmentReader(client, settings.key_prefix),
            plans=PlanCache(artifacts),
            places=QueuePlaces(client, settings.key_prefix),
            events=AsyncEventLog(event_client, settings.key_prefix),
            callers=CallerGate(event_client, settings.key_prefix, settings.rate_limit),
            api_keys=ApiKeyStore(client, settings.key_prefix),
            replays=ReplayStore(event_client, settings.key_prefix),
            quotas=QuotaStore(client, quotas_of(settings), settings.key_prefix),
            usage=UsageLedger(client, settings.key_prefix),
            artifacts=artifacts,
            tickets=tickets,
            models=ModelRegistry(client, settings.key_prefix),
            fleet=Fleet(client, settings.key_prefix),
            roster=Roster(client, settings.key_prefix),
            overviews=Overviews(client, settings.key_prefix),
            guard=StateGuard(client, artifacts, settings.key_prefix),
            dead_items=DeadItems(client, settings.key_prefix),
            audits=AuditLog(client, settings.key_prefix),
            stored=StoredRecount(client, settings.key_prefix),
            journal=journal,
            voices=VoiceStore(client, settings.key_prefix, settings.quota_voices, settings.quota_stored_bytes),
            consents=ConsentStore(client, settings.key_prefix, settings.quota_stored_bytes),
            uploads=UploadLedger(client, settings.key_prefix, settings.quota_stored_bytes),
            pronunciations=PronunciationStore(client, settings.key_prefix, settings.quota_stored_bytes),
            webhooks=open_webhooks(
                WebhookStore(client, settings.key_prefix), WebhookQueue(client, settings.key_prefix), settings
            ),
            decoders=CapacityLimiter(MAX_DECODERS),
            encoders=CapacityLimiter(MAX_ENCODERS),
        )
    finally:
        await to_thread.run_sync(journal.close)
        tickets.close()
        await event_client.aclose()
        client.close()
