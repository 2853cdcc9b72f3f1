"""What the benchmarks of voices share: recordings, voices made of them, and a worker on stores of its own."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TypeVar

import numpy as np
import redis
import soundfile
import torch
from pydantic import SecretStr

from rhapsode.bench.statistics import percentile
from rhapsode.contract.voices.modes import CacheMode
from storage.database.connections import connect_redis, open_artifacts
from storage.database.embedded_valkey import EmbeddedRedis
from storage.ids import TenantId, new_job_id, new_voice_id
from storage.job_store.plan_cache import PlanCache, VoicePlanCache
from storage.job_store.segment_reads import ResultSamples
from storage.job_store.segment_reuse import ReuseIndex
from storage.job_store.store import JobStore
from storage.jobs.work_items import Lease, WorkerIdentity
from storage.jobs.work_queues import CPU_QUEUE, speech_queue
from storage.narration.voice_reference import SourceKind, VoiceReference, VoiceSource
from storage.objects import keys
from storage.queue.celery_queue import TicketQueue, create_celery
from storage.runtime.config.settings import StorageSettings
from storage.voices.records import Consent, NewVoice
from storage.voices.store import VoiceStore
from worker.engine.process.engine_process import EngineProcess
from worker.engine.random_checkpoint.directory import draw_checkpoint, make_checkpoint
from worker.engine.settings import NativeEngineSettings
from worker.items.leases.claim_ahead import ClaimAhead
from worker.items.leases.keeper import HeldLease, LeaseKeeper
from worker.items.leases.quarantine import QuarantineGate
from worker.services import SpeechServices
from worker.speech.postprocessing.in_process import InProcessPostProcessor
from worker.speech.postprocessing.packing import PLACES_SHARE, SegmentPacker
from worker.speech.quality.calibration.calibration_file import UNCALIBRATED
from worker.speech.quality.counters import GateCounters
from worker.speech.quality.gate import QualityGate
from worker.speech.quality.norms_cache import NormsCache
from worker.speech.quality.verdict import measured_verdict
from worker.voices.cache import VoiceCache
from worker.voices.resolving import VoiceResolver

TENANT = TenantId("bench")
MODEL = "bench"
RATE_HZ = 24_000
REF_TEXT = "The wind and the sun were disputing which of them was the stronger."
T = TypeVar("T")


@dataclass(slots=True)
class Times:
    """Of one kind of call, in milliseconds."""

    milliseconds: list[float] = field(default_factory=list)

    def run(self, call: Callable[[], T]) -> T:
        start = time.perf_counter()
        answer = call()
        self.milliseconds.append((time.perf_counter() - start) * 1000)
        return answer

    def figures(self) -> dict[str, float]:
        return {"p50_ms": percentile(self.milliseconds, 0.5), "p95_ms": percentile(self.milliseconds, 0.95)}


@dataclass(frozen=True, slots=True)
class Bench:
    services: SpeechServices
    client: redis.Redis
    store: VoiceStore

    def forgetful(self) -> VoiceResolver:
        """What a worker that has just started finds voices with."""
        services = self.services
        return VoiceResolver(self.store, services.artifacts, services.engine, VoiceCache(1 << 30))

    def planner(self) -> SpeechServices:
        """The same worker, on the queue of plans."""
        return replace(self.services, queue=CPU_QUEUE)

    def hold(self) -> HeldLease:
        """For what needs no lease of the store: loads and voices without a record."""
        return HeldLease(Lease(new_job_id(), TENANT, "0", 1), lease_s=30.0)


def create_voice(rig: Bench, mode: CacheMode, recording: bytes, name: str) -> VoiceReference:
    voice = new_voice_id()
    stored = rig.services.artifacts.put(keys.voice_source(TENANT, voice, "1"), recording)
    source = VoiceSource(SourceKind.RECORDING, stored.key, stored.sha256, stored.bytes, "audio/flac")
    text = REF_TEXT if mode is CacheMode.IN_CONTEXT else ""
    consent = Consent("a synthetic tone", TENANT, 0)
    rig.store.create(NewVoice(voice, TENANT, name, source, REF_TEXT, consent=consent))
    return VoiceReference(voice, name, 1, MODEL, mode, source, text)


@cache
def recording_of(seconds: float, seed: int) -> bytes:
    """A voice-like buzz that is different for every seed, as FLAC."""
    generator = np.random.default_rng(seed)
    t = np.arange(round(seconds * RATE_HZ)) / RATE_HZ
    pitch = 90 + 5 * (seed % 40)
    buzz = sum(np.sin(2 * np.pi * pitch * n * t + 3 * np.sin(2 * np.pi * 4 * t)) / n for n in range(1, 12))
    pcm = 0.15 * buzz * (0.6 + 0.4 * np.sin(2 * np.pi * 3 * t)) + 0.01 * generator.standard_normal(t.size)
    file = io.BytesIO()
    soundfile.write(file, np.clip(pcm, -1, 1), RATE_HZ, format="FLAC", subtype="PCM_16")
    return file.getvalue()


def write_checkpoint(path: Path, size: str, device: str) -> Path:
    if torch.device(device).type == "cuda":  # drawn there, seconds instead of minutes
        draw_checkpoint(path, size, "base", torch.device(device), eos_gain=0.0)
        return path
    make_checkpoint(path, size, "base", seed=3)
    return path


@contextmanager
def bench(folder: Path, engine_settings: NativeEngineSettings, threads: int) -> Generator[Bench]:
    """threads: how many voices may be prepared at the same time."""
    with EmbeddedRedis(folder / "valkey") as server:
        settings = StorageSettings(
            redis_url=SecretStr(server.url),
            broker_url=SecretStr(server.broker_url),
            store=f"file://{folder}/store",
            url_secret=SecretStr("of a benchmark, and of no use elsewhere"),
        )
        client = connect_redis(settings)
        tickets = TicketQueue(create_celery(settings, "benchmark"))
        jobs, artifacts = JobStore(client), open_artifacts(settings)
        leases, store = LeaseKeeper(jobs, lease_s=30.0), VoiceStore(client)
        engine = EngineProcess(engine_settings)
        engine.start()
        services = SpeechServices(
            identity=WorkerIdentity("benchmark", "1"),
            queue=speech_queue(MODEL),
            jobs=jobs,
            artifacts=artifacts,
            tickets=tickets,
            leases=leases,
            plans=PlanCache(artifacts),
            voice_store=store,
            voice_plans=VoicePlanCache(artifacts),
            lease_s=30.0,
            closing=threading.Event(),
            gate=QuarantineGate(),
            engine=engine,
            ahead=ClaimAhead(engine.info.slots),
            voices=VoiceResolver(store, artifacts, engine, VoiceCache(64 << 20), places=threads),
            quality=QualityGate(UNCALIBRATED, {}, measured_verdict),
            counters=GateCounters(),
            norms=NormsCache(ResultSamples(client), engine.info.sample_rate_hz),
            reuse=ReuseIndex(client),
            postprocessor=InProcessPostProcessor(artifacts),
            packer=SegmentPacker(engine.info.slots // PLACES_SHARE, wait_s=1.0),
        )
        leases.start()
        try:
            yield Bench(services, client, store)
        finally:
            leases.close()
            engine.close()
            tickets.close()
            client.close()
