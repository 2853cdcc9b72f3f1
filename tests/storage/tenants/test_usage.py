"""What was made is counted once: by the day of its commit, the key of its job, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

import pytest
import redis

from storage.errors import LeaseLost
from storage.ids import TenantId
from storage.job_store.store import JobStore
from storage.jobs.record import KEPT_DAYS
from storage.jobs.work_items import ReleaseReason
from storage.segments.results import SegmentReport
from storage.tenants.usage import Amounts, DayUsage, UsageLedger, total
from tests.storage.job_store.job_driver import ALICE, BOB, GPU_QUEUE, Clock, claim, report, start_job, submission

FIRST_DAY = date(1970, 1, 1)
ONE = Amounts(segments=1, characters=10, audio_ms=1_000, engine_ms=50)
"""Of one segment as `spoken` reports it."""


@pytest.fixture
def ledger(redis_client: redis.Redis) -> UsageLedger:
    return UsageLedger(redis_client)


def spoken(engine_ms: int = 50) -> SegmentReport:
    return report(num_samples=24_000, engine_ms=engine_ms)


def today(clock: Clock) -> date:
    return FIRST_DAY + timedelta(days=clock.now_ms // 86_400_000)


def counted(ledger: UsageLedger, clock: Clock, tenant: TenantId = ALICE) -> tuple[DayUsage, ...]:
    return ledger.read(tenant, today(clock) - timedelta(days=9), today(clock))


def test_a_segment_counts_once_however_often_it_is_committed(
    store: JobStore, ledger: UsageLedger, clock: Clock
) -> None:
    start_job(store, 2)
    item = claim(store, GPU_QUEUE)

    for _ in range(3):
        store.commit_segment(item.lease, spoken())

    assert counted(ledger, clock) == (DayUsage(today(clock), "", ONE),)
    assert counted(ledger, clock, BOB) == ()


def test_what_a_lost_worker_spoke_is_not_counted_but_what_its_successor_speaks(
    store: JobStore, ledger: UsageLedger, clock: Clock
) -> None:
    start_job(store, 1)
    late = claim(store, GPU_QUEUE)
    store.release(late.lease, ReleaseReason.WORKER_DIED)
    current = claim(store, GPU_QUEUE)

    with pytest.raises(LeaseLost):
        store.commit_segment(late.lease, spoken())
    store.commit_segment(current.lease, spoken())

    assert total(counted(ledger, clock)) == ONE


def test_copies_are_counted_as_audio_and_as_cached_audio(store: JobStore, ledger: UsageLedger, clock: Clock) -> None:
    start_job(store, 1)

    store.commit_segment(claim(store, GPU_QUEUE).lease, replace(spoken(engine_ms=0), reused=True, attempts=0))

    assert total(counted(ledger, clock)) == Amounts(1, 10, 1_000, cached_audio_ms=1_000, engine_ms=0)


def test_counts_are_kept_apart_by_day_and_key_for_a_while(
    store: JobStore, ledger: UsageLedger, clock: Clock, redis_client: redis.Redis
) -> None:
    start_job(store, 3, replace(submission(), key_id="key_1"))
    store.commit_segment(claim(store, GPU_QUEUE).lease, spoken())
    before = today(clock)
    clock.advance(86_400)
    store.commit_segment(claim(store, GPU_QUEUE).lease, spoken())
    found = counted(ledger, clock)

    assert found == (
        DayUsage(before, "key_1", ONE),
        DayUsage(today(clock), "key_1", ONE),
    )
    lives = {redis_client.ttl(key) for key in redis_client.scan_iter(match="{rhapsode}:usage:*")}
    assert all(0 <= KEPT_DAYS * 86_400 - life < 60 for life in lives)


def test_deleting_a_job_takes_nothing_back(store: JobStore, ledger: UsageLedger, clock: Clock) -> None:
    job = start_job(store, 2)
    store.commit_segment(claim(store, GPU_QUEUE).lease, spoken())
    store.cancel(ALICE, job.id)
    store.delete(ALICE, job.id)

    assert total(counted(ledger, clock)) == ONE
