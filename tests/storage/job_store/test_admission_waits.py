"""Who is refused is told the truth about when there will be room: a fleet in simulated time, over the real scripts."""

from __future__ import annotations

import random
import statistics

import pytest
import redis

from rhapsode.contract.jobs.states import Priority
from storage.errors import AdmissionRefused
from storage.ids import TenantId
from storage.job_store.store import JobStore
from storage.jobs.submissions import AdmissionLimits, Submission
from tests.storage.job_store.job_driver import ALICE, BOB, Clock, open_store, submission
from tests.storage.job_store.simulated_fleet import SEGMENT_MS, SimulatedFleet, book

ENDLESS = 1_000_000_000
WARM_UP_S = 60.0
REFUSALS = 8

LIMITS = {
    "tenant_jobs": AdmissionLimits(12, ENDLESS, ENDLESS, ENDLESS),
    "tenant_audio_ms": AdmissionLimits(ENDLESS, 60 * SEGMENT_MS, ENDLESS, ENDLESS),
    "total_jobs": AdmissionLimits(ENDLESS, ENDLESS, 20, ENDLESS),
    "total_audio_ms": AdmissionLimits(ENDLESS, ENDLESS, ENDLESS, 80 * SEGMENT_MS),
}


def wanted(tenant: TenantId, dice: random.Random) -> Submission:
    return book(submission(tenant, priority=Priority.LOW), dice.randint(2, 8))


def try_submit(store: JobStore, job: Submission) -> AdmissionRefused | None:
    try:
        store.submit(job)
    except AdmissionRefused as refusal:
        return refusal
    return None


def fill(store: JobStore, tenant: TenantId, dice: random.Random) -> Submission:
    """Submit until one is refused, which is returned."""
    while try_submit(store, job := wanted(tenant, dice)) is None:
        pass
    return job


def measured_s(fleet: SimulatedFleet, job: Submission) -> float:
    """Until there is room for the job, which takes it."""
    waited_s = 0.0
    while try_submit(fleet.store, job) is not None:
        waited_s += fleet.step()
    return waited_s


@pytest.mark.parametrize("neighbour", [False, True], ids=["alone", "shared"])
@pytest.mark.parametrize("slots", [2, 16])
@pytest.mark.parametrize("limit", LIMITS)
def test_the_told_wait_is_true_within_a_factor_of_two(
    redis_client: redis.Redis, clock: Clock, limit: str, slots: int, neighbour: bool
) -> None:
    dice = random.Random(f"{limit} {slots} {neighbour}")
    store = open_store(redis_client, LIMITS[limit])
    fleet = SimulatedFleet(store, clock, slots, pace=8 / slots, dice=dice)
    waits: list[tuple[float, float]] = []
    for round_number in range(REFUSALS):
        if neighbour and not limit.startswith("total"):
            for _ in range(4):
                try_submit(store, wanted(BOB, dice))
        refused = fill(store, ALICE, dice)
        if round_number == 0:
            # The pace is known from then on.
            fleet.run(WARM_UP_S)
            refused = fill(store, ALICE, dice)
        refusal = try_submit(store, refused)
        assert refusal is not None
        assert refusal.limit == limit
        assert refusal.retry_after_s is not None
        waits.append((refusal.retry_after_s, measured_s(fleet, refused)))

    told_s, real_s = (statistics.fmean(part) for part in zip(*waits, strict=True))

    assert real_s / 2 <= told_s <= max(1.0, real_s * 2), (told_s / real_s, waits)
