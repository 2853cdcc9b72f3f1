"""Row 43 in simulated time, over the real scripts: more than the capacity from one tenant hardly delays another."""

from __future__ import annotations

import heapq
import random
import statistics
from collections import deque
from dataclasses import dataclass, field

import redis

from rhapsode.contract.jobs.states import Priority
from storage.errors import QuotaExceeded
from storage.ids import JobId, TenantId
from storage.job_store.store import JobStore
from storage.jobs.submissions import AdmissionLimits
from storage.jobs.work_items import ASSEMBLE_ITEM, ClaimedItem, PlanResult
from storage.jobs.work_queues import CPU_QUEUE
from tests.storage.job_store.job_driver import (
    ALICE,
    BOB,
    GPU_QUEUE,
    WORKER,
    Clock,
    artifact,
    open_store,
    report,
    submission,
)
from worker.items.leases.claim_ahead import ClaimAhead

SLOTS, SEGMENT_S, AUDIO_MS = 8, 2.2, 13_000
CAPACITY = SLOTS / SEGMENT_S
SECONDS = 120.0
FACTOR = 2
"""Times the capacity that the first tenant submits. What its quota does not hold is refused, however much that is."""

LEASE_S = 3_600.0
LIMITS = AdmissionLimits(tenant_jobs=4 * SLOTS)
HEAVY, LIGHT = ALICE, BOB


@dataclass
class Fleet:
    """One worker, whose claims take no time: so many slots, and so many claims ahead of them."""

    store: JobStore
    clock: Clock
    ahead: int
    dice: random.Random
    running: list[tuple[int, int, ClaimedItem]] = field(default_factory=list)
    waiting: deque[ClaimedItem] = field(default_factory=deque)
    submitted_ms: dict[JobId, int] = field(default_factory=dict)
    latencies_s: dict[TenantId, list[float]] = field(default_factory=lambda: {HEAVY: [], LIGHT: []})

    def submit(self, tenant: TenantId) -> None:
        try:
            job = self.store.submit(submission(tenant, AUDIO_MS, Priority.LOW)).job
        except QuotaExceeded:
            return
        self.submitted_ms[job.id] = self.clock.now_ms
        self.fill()

    def finish_next(self) -> None:
        _, _, item = heapq.heappop(self.running)
        self.store.commit_segment(item.lease, report())
        waited_ms = self.clock.now_ms - self.submitted_ms[item.lease.job]
        self.latencies_s[item.lease.tenant].append(waited_ms / 1000)
        self.fill()

    def fill(self) -> None:
        while (item := self.store.claim(CPU_QUEUE, WORKER, LEASE_S).item) is not None:
            if item.lease.item == ASSEMBLE_ITEM:
                self.store.finish(item.lease, [artifact()])
            else:
                self.store.commit_plan(item.lease, PlanResult("plan", 1, AUDIO_MS))
        while len(self.running) + len(self.waiting) < SLOTS + self.ahead or self.waiting:
            if len(self.running) < SLOTS and self.waiting:
                self._start(self.waiting.popleft())
                continue
            if len(self.running) + len(self.waiting) == SLOTS + self.ahead:
                return
            claimed = self.store.claim(GPU_QUEUE, WORKER, LEASE_S).item
            if claimed is None:
                return
            self.waiting.append(claimed)

    def _start(self, item: ClaimedItem) -> None:
        times = 1.0 if item.lease.tenant == LIGHT else self.dice.uniform(0.5, 1.5)
        due_ms = self.clock.now_ms + round(1000 * times * SEGMENT_S)
        heapq.heappush(self.running, (due_ms, item.lease.fence, item))


def overloaded(fleet: Fleet) -> None:
    """`SECONDS` of submits, and the time until what was accepted is spoken."""
    begun_ms = fleet.clock.now_ms
    rates = {HEAVY: FACTOR * CAPACITY, LIGHT: CAPACITY / 10}
    arrivals = sorted(
        (begun_ms + round(1000 * number / rate), tenant)
        for tenant, rate in rates.items()
        for number in range(round(rate * SECONDS))
    )
    for at_ms, tenant in arrivals:
        while fleet.running and fleet.running[0][0] <= at_ms:
            fleet.clock.advance((fleet.running[0][0] - fleet.clock.now_ms) / 1000)
            fleet.finish_next()
        fleet.clock.advance((at_ms - fleet.clock.now_ms) / 1000)
        fleet.submit(tenant)


def test_more_than_the_capacity_from_one_tenant_delays_another_by_less_than_half(
    redis_client: redis.Redis, clock: Clock
) -> None:
    fleet = Fleet(open_store(redis_client, LIMITS), clock, ClaimAhead(SLOTS).most - SLOTS, random.Random(1))

    overloaded(fleet)

    spoken = sum(len(each) for each in fleet.latencies_s.values())
    assert spoken >= 0.97 * CAPACITY * SECONDS - SLOTS
    p95_s = statistics.quantiles(fleet.latencies_s[LIGHT], n=20)[-1]
    assert p95_s <= 1.5 * SEGMENT_S, fleet.latencies_s[LIGHT]
