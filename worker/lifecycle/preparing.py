"""What every worker process does before it loads anything: logs, limits, checks, tracing, metrics."""

from __future__ import annotations

import logging
import threading

from storage.database.connections import open_artifacts
from storage.database.redis_errors import StateRedis
from storage.database.schema_version import agree_on_layout
from storage.job_store.plan_cache import PlanCache, VoicePlanCache
from storage.job_store.store import JobStore
from storage.jobs.work_items import WorkerIdentity
from storage.jobs.work_queues import Lane
from storage.queue.celery_queue import TicketQueue
from storage.queue.model_registry import ModelRegistry
from storage.runtime.config.certificates import check_certificates
from storage.runtime.config.failpoints import configure as configure_failpoints
from storage.runtime.config.file_limit import allow_files
from storage.runtime.config.settings import describe
from storage.runtime.observability.logs import configure_process_logging
from storage.runtime.observability.tracing import configure_tracing
from storage.tenants.quotas import admission_limits
from storage.voices.plan import decode_voice_plan
from storage.voices.store import VoiceStore
from worker.items.leases.keeper import LeaseKeeper
from worker.items.leases.quarantine import QuarantineGate
from worker.process.metrics_server import serve_metrics
from worker.services import WorkerServices
from worker.settings import WorkerSettings

logger = logging.getLogger(__name__)

FILES_OF_A_PLACE = 8
"""Files that a thread may hold open: a connection to a post-processor and to Redis, an object and its folders."""

OTHER_FILES = 256

LIVE_FILES = 1_024
"""Connections of API processes, and of unknown clients for some seconds."""


def prepare_process(settings: WorkerSettings, redis: StateRedis, worker: str) -> None:
    """Raises `SettingsError` or `StorageError`."""
    lane = settings.lane.value
    configure_process_logging(settings, role=lane, worker=worker)
    logger.info("settings", extra={"values": " ".join(describe(settings))})
    allow_files(FILES_OF_A_PLACE * settings.num_places + OTHER_FILES + LIVE_FILES)
    configure_failpoints(settings.failpoint)
    check_certificates(settings)
    if settings.lane is Lane.GPU:
        settings.require_checkpoints()
    agree_on_layout(redis, settings.key_prefix)
    configure_tracing(settings, lane)
    # A port in use is reported before the model loads, which takes minutes.
    serve_metrics(settings.metrics_port)


def worker_services(
    settings: WorkerSettings, redis: StateRedis, identity: WorkerIdentity, tickets: TicketQueue
) -> WorkerServices:
    """Its leases are not kept yet."""
    limits, artifacts = admission_limits(settings), open_artifacts(settings)
    jobs = JobStore(redis, settings.key_prefix, limits, max_attempts=settings.max_attempts)
    return WorkerServices(
        identity=identity,
        queue=settings.queue,
        jobs=jobs,
        models=ModelRegistry(redis, settings.key_prefix),
        artifacts=artifacts,
        tickets=tickets,
        leases=LeaseKeeper(jobs, settings.lease_s),
        plans=PlanCache(artifacts),
        voice_store=VoiceStore(redis, settings.key_prefix),
        voice_plans=VoicePlanCache(artifacts, decode_voice_plan),
        lease_s=settings.lease_s,
        closing=threading.Event(),
        gate=QuarantineGate(),
    )
