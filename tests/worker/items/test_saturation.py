"""One job is enough to keep every slot of a large engine busy, and a busy worker does without messages."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import cast

import redis

from rhapsode.contract.jobs.narration import SegmentLengths
from storage.database.keys import RedisKeys
from storage.ids import JobId
from storage.jobs.work_queues import CPU_QUEUE
from storage.queue.worker_slots import WorkerSlots
from storage.runtime.config.settings import StorageSettings
from tests.threads import BoundedExecutor
from tests.worker.studio import GPU_QUEUE, SPEC, Studio
from worker.engine.fake import FakeEngine
from worker.engine.settings import FakeEngineSettings
from worker.items.gpu_ticket import GpuTickets
from worker.items.leases.claim_ahead import ClaimAhead

SLOTS = 256
NUM_SEGMENTS = 2_000
STEP_S = 0.5
"""A segment of this text takes the fake engine seven steps."""


def test_one_long_job_fills_every_slot_of_a_large_engine(
    studio: Studio, redis_client: redis.Redis, storage_settings: StorageSettings
) -> None:
    engine = FakeEngine(FakeEngineSettings(slots=SLOTS, step_s=STEP_S))
    services = replace(studio.services, engine=engine, ahead=ClaimAhead(SLOTS))
    WorkerSlots(redis_client).announce(GPU_QUEUE, "w", SLOTS)
    spec = SPEC.asking(segmentation=SegmentLengths(target_chars=10, max_chars=40))
    job = studio.submit(" ".join(f"This is {number}." for number in range(1_000, 1_000 + NUM_SEGMENTS)), spec)
    studio.run_one(CPU_QUEUE)
    assert studio.record(job).segments.total == NUM_SEGMENTS
    busy: list[int] = []
    open_items: list[int] = []

    tickets = GpuTickets(services, SLOTS * 3 // 2)

    def answer_tickets() -> None:
        """As Celery has it: one after the other."""
        while not services.worker.closing.wait(0.02):
            tickets.answer()

    with BoundedExecutor(1) as threads:
        threads.submit(answer_tickets)
        try:
            while studio.record(job).segments.done < SLOTS * 3 // 2:
                busy.append(engine.stats().active)
                open_items.append(num_open(redis_client, RedisKeys(storage_settings.key_prefix), job.id))
                time.sleep(0.1)
        finally:
            services.worker.closing.set()
    tickets.close()
    engine.close()

    # How fast the worker takes them is a benchmark's business; here there is always enough to take.
    assert min(open_items) >= SLOTS
    assert max(busy) == SLOTS
    # The plan's, which came before any worker was there, and a few for workers that might have room for what is ready.
    assert studio.jobs.ready_counts()[GPU_QUEUE] > 0
    assert 0 < studio.services.worker.tickets.waiting(GPU_QUEUE) - SLOTS < 16


def num_open(client: redis.Redis, keys: RedisKeys, job: JobId) -> int:
    """Ready, under lease or waiting, at one moment: two reads would miss what ends and opens between them."""
    fields = cast("list[str | None]", client.hmget(keys.of("job", job), ["next", "done", "failed"]))
    opened, done, failed = (int(value or 0) for value in fields)
    return opened - done - failed
