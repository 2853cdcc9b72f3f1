"""What the job store's tests share: a clock they set, and a client that plays API and worker."""

from __future__ import annotations

import hashlib

import redis

from rhapsode.contract.jobs.narration import Narration
from rhapsode.contract.jobs.states import Priority
from storage.ids import TenantId, WorkQueue, new_job_id
from storage.job_store.control import JobControl
from storage.job_store.store import JobStore
from storage.jobs.record import ArtifactRecord, JobRecord
from storage.jobs.submissions import AdmissionLimits, IdempotencyKey, Submission
from storage.jobs.work_items import ClaimedItem, PlanResult, WorkerIdentity
from storage.jobs.work_queues import CPU_QUEUE, speech_queue
from storage.narration.spec import NarrationSpec
from storage.segments.results import SegmentReport

EPOCH_MS = 1_800_000_000_000
LEASE_S = 30.0
WORKER = WorkerIdentity("worker", "first")
SPEC = NarrationSpec(Narration(model="small", voice="alice"))
GPU_QUEUE = speech_queue(SPEC.model)
ALICE = TenantId("alice")
BOB = TenantId("bob")


class Clock:
    """The clock of stores that are opened with `TEST_CLOCK`, in Unix milliseconds; moves only when told."""

    told_ms = EPOCH_MS

    def __init__(self) -> None:
        Clock.told_ms = EPOCH_MS

    @property
    def now_ms(self) -> int:
        return Clock.told_ms

    def advance(self, seconds: float) -> None:
        Clock.told_ms += round(seconds * 1000)


def TEST_CLOCK() -> int:
    return Clock.told_ms


def open_control(client: redis.Redis, limits: AdmissionLimits | None = None, window: int = 32) -> JobControl:
    """As `open_store`."""
    return JobControl(client, limits=limits or AdmissionLimits(), window=window, clock=TEST_CLOCK)


def open_store(
    client: redis.Redis, limits: AdmissionLimits | None = None, max_attempts: int = 4, window: int = 32
) -> JobStore:
    """A store whose calls bring the test's time."""
    return JobStore(
        client, limits=limits or AdmissionLimits(), max_attempts=max_attempts, window=window, clock=TEST_CLOCK
    )


def submission(
    tenant: TenantId = ALICE,
    audio_ms: int = 60_000,
    priority: Priority = Priority.NORMAL,
    deadline_ms: int | None = None,
    idempotency: IdempotencyKey | None = None,
    metadata: dict[str, str] | None = None,
    model: str = SPEC.model,
) -> Submission:
    job_id = new_job_id()
    return Submission(
        id=job_id,
        tenant=tenant,
        spec=SPEC.asking(model=model),
        priority=priority,
        input_key=f"jobs/{tenant}/{job_id}/input.txt",
        input_chars=audio_ms // 60,
        estimated_audio_ms=audio_ms,
        retention_s=3600,
        deadline_ms=deadline_ms,
        metadata=metadata or {},
        idempotency=idempotency,
    )


def sha256_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def report(text: str = "audio", num_samples: int = 24_000, engine_ms: int = 5, take: int = 1) -> SegmentReport:
    return SegmentReport(
        num_samples=num_samples,
        sample_rate_hz=24_000,
        num_chars=10,
        sha256=sha256_of(text),
        finish_reason="eos",
        engine_ms=engine_ms,
        take=take,
    )


def artifact(key: str = "jobs/alice/job/artifacts/1/narration.wav") -> ArtifactRecord:
    return ArtifactRecord("narration.wav", "wav", key, bytes=44, sha256=sha256_of(key), duration_s=1.5)


def claim(store: JobStore, queue: WorkQueue, worker: WorkerIdentity = WORKER) -> ClaimedItem:
    """The next item, which has to be there."""
    item = store.claim(queue, worker, LEASE_S).item
    assert item is not None
    return item


def start_job(store: JobStore, num_segments: int, wanted: Submission | None = None) -> JobRecord:
    """A job whose plan is committed; nothing else may be ready in the cpu lane."""
    wanted = wanted or submission()
    store.submit(wanted)
    plan = claim(store, CPU_QUEUE)
    assert plan.lease.job == wanted.id
    store.commit_plan(plan.lease, PlanResult(f"plan-{plan.lease.fence}", num_segments, wanted.estimated_audio_ms))
    return store.get(wanted.tenant, wanted.id)


def finish_segments(store: JobStore, count: int) -> None:
    for _ in range(count):
        store.commit_segment(claim(store, GPU_QUEUE).lease, report())
