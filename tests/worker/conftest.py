"""A worker's services in this process, on the real Valkey and a folder store, with the fake engine."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
import redis

from storage.database.connections import open_artifacts
from storage.job_store.control import JobControl
from storage.job_store.plan_cache import PlanCache, VoicePlanCache
from storage.job_store.segment_reads import SegmentReader
from storage.job_store.segment_reuse import ReuseIndex
from storage.job_store.store import JobStore
from storage.jobs.work_items import WorkerIdentity
from storage.queue.celery_queue import TicketQueue, create_celery
from storage.queue.model_registry import ModelRegistry
from storage.runtime.config.settings import StorageSettings
from storage.voices.plan import decode_voice_plan
from storage.voices.store import VoiceStore
from tests.worker.studio import GPU_QUEUE, Studio
from worker.engine.fake import FakeEngine
from worker.engine.settings import FakeEngineSettings
from worker.items.leases.claim_ahead import ClaimAhead
from worker.items.leases.keeper import LeaseKeeper
from worker.items.leases.quarantine import QuarantineGate
from worker.services import SpeechServices, WorkerServices
from worker.speech.postprocessing.in_process import InProcessPostProcessor
from worker.speech.postprocessing.packing import SegmentPacker
from worker.speech.quality.calibration.calibration_file import UNCALIBRATED
from worker.speech.quality.gate import QualityGate
from worker.speech.quality.norms_cache import NormsCache
from worker.speech.quality.verdict import measured_verdict
from worker.voices.cache import PromptCache
from worker.voices.resolving import VoiceResolver


@pytest.fixture
def tickets(storage_settings: StorageSettings) -> Iterator[TicketQueue]:
    queue = TicketQueue(create_celery(storage_settings, "tests"))
    yield queue
    queue.close()


@pytest.fixture
def studio(storage_settings: StorageSettings, redis_client: redis.Redis, tickets: TicketQueue) -> Iterator[Studio]:
    jobs = JobStore(redis_client, storage_settings.key_prefix)
    artifacts = open_artifacts(storage_settings)
    leases = LeaseKeeper(jobs, lease_s=3.0)
    voice_store = VoiceStore(redis_client, storage_settings.key_prefix)
    engine = FakeEngine(FakeEngineSettings(slots=4, step_s=0.0))
    worker = WorkerServices(
        identity=WorkerIdentity("w", "1"),
        queue=GPU_QUEUE,
        jobs=jobs,
        models=ModelRegistry(redis_client, storage_settings.key_prefix),
        artifacts=artifacts,
        tickets=tickets,
        leases=leases,
        plans=PlanCache(artifacts),
        voice_store=voice_store,
        voice_plans=VoicePlanCache(artifacts, decode_voice_plan),
        lease_s=3.0,
        closing=threading.Event(),
        gate=QuarantineGate(),
    )
    services = SpeechServices(
        worker=worker,
        engine=engine,
        ahead=ClaimAhead(engine.info.slots),
        voices=VoiceResolver(voice_store, artifacts, engine, PromptCache(1 << 20)),
        quality=QualityGate(UNCALIBRATED, {}, measured_verdict),
        norms=NormsCache(SegmentReader(redis_client, storage_settings.key_prefix), engine.info.sample_rate_hz),
        reuse=ReuseIndex(redis_client, storage_settings.key_prefix),
        postprocessor=InProcessPostProcessor(artifacts),
        packer=SegmentPacker(places=4, wait_s=1.0),
    )
    leases.start()
    yield Studio(services, jobs, artifacts)
    leases.close()
    engine.close()


@pytest.fixture
def control(redis_client: redis.Redis, storage_settings: StorageSettings) -> JobControl:
    return JobControl(redis_client, storage_settings.key_prefix)
