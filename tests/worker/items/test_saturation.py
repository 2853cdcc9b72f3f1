"""One job is enough to keep every slot of a large engine busy, and a busy worker does without messages."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import redis

from rhapsode.contract.jobs.narration import SegmentLengths
from storage.jobs.work_queues import CPU_QUEUE
from storage.queue.worker_slots import WorkerSlots
from tests.worker.studio import GPU_QUEUE, SPEC, Studio
from worker.engine.fake import FakeEngine
from worker.engine.settings import FakeEngineSettings
from worker.items.dispatch import run_gpu_ticket
from worker.leases.claim_ahead import ClaimAhead

SLOTS = 256
NUM_SEGMENTS = 2_000
STEP_S = 0.5
"""A segment of this text takes the fake engine seven steps."""


def test_one_long_job_fills_every_slot_of_a_large_engine(studio: Studio, redis_client: redis.Redis) -> None:
    engine = FakeEngine(FakeEngineSettings(slots=SLOTS, step_s=STEP_S))
    services = replace(studio.services, engine=engine, ahead=ClaimAhead(SLOTS))
    WorkerSlots(redis_client).announce(GPU_QUEUE, "w", SLOTS)
    spec = SPEC.asking(segmentation=SegmentLengths(target_chars=10, max_chars=40))
    job = studio.submit(" ".join(f"This is {number}." for number in range(1_000, 1_000 + NUM_SEGMENTS)), spec)
    studio.run_one(CPU_QUEUE)
    assert studio.record(job).segments.total == NUM_SEGMENTS
    busy: list[int] = []
    open_items: list[int] = []

    with ThreadPoolExecutor(SLOTS * 3 // 2) as threads:
        for _ in range(SLOTS * 3 // 2):
            threads.submit(run_gpu_ticket, services)
        while studio.record(job).segments.done < SLOTS * 3 // 2:
            busy.append(engine.stats().active)
            # In this order an item that moves on in between is counted once or twice, never missed.
            open_items.append(studio.jobs.ready_counts()[GPU_QUEUE] + studio.record(job).segments.running)
            time.sleep(0.1)
        services.closing.set()
    engine.close()

    # How fast the worker takes them is a benchmark's business; here there is always enough to take.
    assert min(open_items) >= SLOTS
    assert max(busy) == SLOTS
    # A ticket sends no message for what it goes on with itself; one that ends sends them for what it leaves behind.
    assert studio.jobs.ready_counts()[GPU_QUEUE] <= studio.services.tickets.waiting(GPU_QUEUE) < NUM_SEGMENTS // 2
