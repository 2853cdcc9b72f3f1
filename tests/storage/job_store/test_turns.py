"""Whoever comes anew is served soon, and nobody gets more of the workers by leaving and coming back."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest
import redis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rhapsode.contract.jobs.states import Priority
from storage.ids import JobId, TenantId
from storage.job_store.store import JobStore
from tests.property_tests import examples
from tests.storage.health_checks import KNOWN
from tests.storage.job_store.job_driver import (
    ALICE,
    BOB,
    GPU_QUEUE,
    LEASE_S,
    WORKER,
    Clock,
    claim,
    open_store,
    report,
    start_job,
    submission,
)
from tests.storage.job_store.turn_model import QUANTUM_MS, LinedJob, TurnModel

TENANTS = (ALICE, BOB, TenantId("carol"), TenantId("dave"))
COSTS_MS = (3_000, 12_000, 40_000)
SEGMENT_MS = 12_000

SUBMITS = st.tuples(
    st.just("submit"), st.sampled_from(TENANTS), st.sampled_from(COSTS_MS), st.sampled_from([1, 1, 2, 12])
)
CALLS = st.one_of(
    SUBMITS,
    SUBMITS,
    st.tuples(st.just("claim"), st.integers(1, 4)),
    st.tuples(st.just("cancel"), st.integers(0, 99)),
    st.tuples(st.just("pause"), st.integers(0, 99)),
    st.tuples(st.just("resume"), st.integers(0, 99)),
)


class TurnWorld:
    """Store and model side by side; what is claimed is never committed.

    served: after every claim, what each tenant has got. waited: who had work before and after it.
    """

    def __init__(self, client: redis.Redis) -> None:
        client.flushdb()
        Clock()
        self.store = open_store(client)
        self.model = TurnModel()
        self.jobs: dict[JobId, tuple[TenantId, int]] = {}
        self.paused: dict[JobId, int] = {}
        self.served: list[Counter[TenantId]] = [Counter()]
        self.waited: list[frozenset[TenantId]] = [frozenset()]

    def submit(self, tenant: TenantId, cost_ms: int, segments: int) -> JobId:
        job = start_job(self.store, segments, submission(tenant, cost_ms * segments, Priority.LOW)).id
        self.jobs[job] = (tenant, cost_ms)
        self.model.enter(tenant, LinedJob(job, cost_ms, segments))
        return job

    def claim(self) -> TenantId | None:
        # Before and after: whose last item this is was there all the time until now.
        waiting = frozenset(self.model.ring)
        expected = self.model.claim()
        item = self.store.claim(GPU_QUEUE, WORKER, LEASE_S).item
        if expected is None:
            assert item is None
            return None
        tenant, job = expected
        assert item is not None
        assert (item.lease.tenant, item.lease.job) == (tenant, job.id)
        self.served.append(self.served[-1] + Counter({tenant: job.cost_ms}))
        self.waited.append(waiting & frozenset(self.model.ring))
        return tenant

    def cancel(self, pick: int) -> None:
        if self.jobs:
            job, (tenant, _) = list(self.jobs.items())[pick % len(self.jobs)]
            del self.jobs[job]
            self.paused.pop(job, None)
            if not self.store.get(tenant, job).state.is_terminal:
                self.store.cancel(tenant, job)
            self.model.leave(tenant, job)

    def pause(self, pick: int) -> None:
        waiting = [(tenant, job) for tenant, line in self.model.lines.items() for job in line]
        if waiting:
            tenant, job = waiting[pick % len(waiting)]
            self.store.pause(tenant, job.id)
            self.paused[job.id] = job.ready
            self.model.leave(tenant, job.id)

    def resume(self, pick: int) -> None:
        if self.paused:
            job, ready = list(self.paused.items())[pick % len(self.paused)]
            del self.paused[job]
            tenant, cost_ms = self.jobs[job]
            self.store.resume(tenant, job)
            self.model.enter(tenant, LinedJob(job, cost_ms, ready))

    def most_gained_ms(self) -> int:
        """How much more one tenant got than another in any stretch of time in which that other had work throughout."""
        gains = [0]
        for begin, end in combinations(range(len(self.served)), 2):
            throughout = frozenset(TENANTS).intersection(*self.waited[begin + 1 : end + 1])
            got = {tenant: self.served[end][tenant] - self.served[begin][tenant] for tenant in TENANTS}
            gains += [max(got.values()) - got[tenant] for tenant in throughout]
        return max(gains)


@settings(
    max_examples=examples(50),
    deadline=None,
    derandomize=True,
    suppress_health_check=[*KNOWN, HealthCheck.function_scoped_fixture],
)
@given(calls=st.lists(CALLS, min_size=10, max_size=40))
def test_any_order_of_calls_is_served_in_the_models_turns(
    redis_client: redis.Redis, calls: list[tuple[str, int]]
) -> None:
    world = TurnWorld(redis_client)
    for name, *arguments in calls:
        if name == "claim":
            for _ in range(arguments[0]):
                world.claim()
        else:
            getattr(world, name)(*arguments)

    # A turn's credit on either side, and a segment that was just taken as the stretch began or could not be at its end.
    assert world.most_gained_ms() <= 2 * (QUANTUM_MS + max(COSTS_MS))


@pytest.mark.parametrize("conspirators", [1, 3])
def test_who_leaves_and_comes_back_all_the_time_gets_no_more_than_a_share(
    redis_client: redis.Redis, conspirators: int
) -> None:
    """Jobs of one segment, the next one as soon as the last was claimed."""
    world = TurnWorld(redis_client)
    book = TenantId("book")
    world.submit(book, SEGMENT_MS, 100)
    restless = TENANTS[:conspirators]
    for tenant in restless:
        world.submit(tenant, SEGMENT_MS, 1)

    for _ in range(50):
        served = world.claim()
        if served in restless:
            assert served is not None
            world.submit(served, SEGMENT_MS, 1)

    shares = world.served[-1]
    assert shares[book] >= 50 * SEGMENT_MS / (conspirators + 1) - SEGMENT_MS


def test_a_newcomer_is_served_before_twenty_tenants_that_wait(store: JobStore) -> None:
    for number in range(20):
        start_job(store, 40, submission(TenantId(f"tenant-{number}"), 40 * SEGMENT_MS, Priority.LOW))
    for _ in range(30):
        store.commit_segment(claim(store, GPU_QUEUE).lease, report())

    newcomers = [start_job(store, 2, submission(tenant, 2 * SEGMENT_MS, Priority.LOW)).id for tenant in (BOB, ALICE)]
    served = [claim(store, GPU_QUEUE).lease.job for _ in range(21)]

    # In the order in which they came, and for the rest of their jobs in line like everybody.
    assert served[:2] == newcomers
    assert [job for job in served[2:] if job in newcomers] == []
    assert len(set(served)) == 21
