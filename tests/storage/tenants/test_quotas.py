"""What a tenant may hold, what counts against it, and that every byte is taken off again."""

from __future__ import annotations

import pytest
import redis

from storage.errors import BacklogFull, QuotaExceeded
from storage.job_store.store import JobStore
from storage.jobs.submissions import AdmissionLimits, Submission
from storage.tenants.quotas import OwnQuotas, Quotas, QuotaStore
from tests.storage.job_store.job_driver import ALICE, BOB, Clock, open_store, submission

FOR_ALL = Quotas(jobs=2, audio_ms=200_000, voices=3)


@pytest.fixture
def store(redis_client: redis.Redis, clock: Clock) -> JobStore:
    return open_store(redis_client, AdmissionLimits(2, 200_000, total_jobs=3, total_audio_ms=1_000_000))


@pytest.fixture
def quotas(redis_client: redis.Redis) -> QuotaStore:
    return QuotaStore(redis_client, FOR_ALL)


def refused(store: JobStore, wanted: Submission) -> QuotaExceeded:
    with pytest.raises(QuotaExceeded) as caught:
        store.submit(wanted)
    return caught.value


def test_a_refusal_says_what_is_held_and_how_much_may_be(store: JobStore) -> None:
    store.submit(submission(audio_ms=90_000))
    too_long = refused(store, submission(audio_ms=150_000))
    store.submit(submission(audio_ms=90_000))
    one_more = refused(store, submission())

    assert (too_long.limit, too_long.held, too_long.most) == ("tenant_audio_ms", 90_000, 200_000)
    assert (one_more.limit, one_more.held, one_more.most) == ("tenant_jobs", 2, 2)


def test_what_never_fits_is_not_told_to_wait(store: JobStore) -> None:
    never = refused(store, submission(audio_ms=200_001))

    assert never.retry_after_s is None


def test_a_tenants_own_limits_count_at_once_and_for_nobody_else(store: JobStore, quotas: QuotaStore) -> None:
    quotas.set_own(ALICE, OwnQuotas(jobs=0))
    assert refused(store, submission()).most == 0
    store.submit(submission(BOB))

    quotas.set_own(ALICE, OwnQuotas(jobs=5, audio_ms=50_000))
    assert refused(store, submission()).limit == "tenant_audio_ms"
    assert quotas.in_force(quotas.own(ALICE)) == Quotas(5, 50_000, 3)

    quotas.set_own(ALICE, OwnQuotas())
    store.submit(submission())
    assert quotas.own(ALICE) == OwnQuotas()


def test_the_backlog_of_all_is_the_systems_limit(store: JobStore) -> None:
    for tenant in (ALICE, ALICE, BOB):
        store.submit(submission(tenant, audio_ms=1_000))

    with pytest.raises(BacklogFull) as caught:
        store.submit(submission(BOB, audio_ms=1_000))

    assert (caught.value.limit, caught.value.held, caught.value.most) == ("total_jobs", 3, 3)


def test_held_is_what_the_limits_count(store: JobStore, quotas: QuotaStore) -> None:
    store.submit(submission(audio_ms=5_000))

    assert quotas.held(ALICE) == Quotas(jobs=1, audio_ms=5_000, voices=0)
    assert quotas.held(BOB) == Quotas(0, 0, 0)


def test_a_limit_of_a_release_before_is_skipped(quotas: QuotaStore, redis_client: redis.Redis) -> None:
    quotas.set_own(ALICE, OwnQuotas(jobs=1))
    redis_client.hset("{rhapsode}:quotas:alice", "stored_bytes", 7)

    assert quotas.own(ALICE) == OwnQuotas(jobs=1)
