"""`usage.quota_reached`: whoever wants to know is told of a limit that refuses, once a day for each."""

from __future__ import annotations

import json
from typing import Any

import pytest
import redis

from storage.errors import BacklogFull, QuotaExceeded
from storage.jobs.submissions import AdmissionLimits
from storage.webhooks.payloads import compose
from tests.storage.job_store.job_driver import ALICE, BOB, EPOCH_MS, open_store, submission
from tests.storage.webhooks.world import WebhookWorld

EVENT = "usage.quota_reached"
DAY_S = 24 * 3600


@pytest.fixture
def limited(redis_client: redis.Redis) -> WebhookWorld:
    """Two jobs of a tenant, three of all."""
    world = WebhookWorld(redis_client)
    world.jobs = open_store(redis_client, AdmissionLimits(2, 100_000, total_jobs=3, total_audio_ms=1_000_000))
    return world


def refuse_one(world: WebhookWorld) -> None:
    with pytest.raises(QuotaExceeded):
        world.jobs.submit(submission(audio_ms=1_000))


def told(world: WebhookWorld) -> list[dict[str, Any]]:
    """The bodies of all that waits, which is taken."""
    bodies = []
    while claimed := world.claim():
        assert claimed.record.type == EVENT
        assert claimed.record.facts is not None
        bodies.append(json.loads(compose(EVENT, claimed.record.created_at_ms, claimed.record.facts, "https://api")))
        world.succeed(claimed)
    return bodies


def test_a_limit_that_refuses_is_told_once_a_day(limited: WebhookWorld) -> None:
    limited.endpoint((EVENT,))
    for _ in range(2):
        limited.jobs.submit(submission(audio_ms=1_000))

    for _ in range(3):
        refuse_one(limited)
    first_day = told(limited)
    limited.clock.advance(DAY_S)
    refuse_one(limited)
    next_day = told(limited)

    [told_first], [told_next] = first_day, next_day
    assert told_first["data"]["quota"] == {"name": "jobs", "held": 2, "limit": 2, "period": "2027-01-15"}
    assert told_first["data"]["links"] == {"self": "https://api/v1/quotas"}
    assert told_next["data"]["quota"]["period"] == "2027-01-16"
    assert EPOCH_MS == 1_800_000_000_000


def test_each_limit_is_told_of_by_itself_and_audio_in_seconds(limited: WebhookWorld, redis_client: redis.Redis) -> None:
    limited.endpoint((EVENT,))

    with pytest.raises(QuotaExceeded):
        limited.jobs.submit(submission(audio_ms=200_000))
    for _ in range(2):
        limited.jobs.submit(submission(audio_ms=1_000))
    with pytest.raises(QuotaExceeded):
        limited.jobs.submit(submission(audio_ms=1_000))

    quotas = [body["data"]["quota"] for body in told(limited)]
    assert [(quota["name"], quota["limit"]) for quota in quotas] == [("audio_s", 100.0), ("jobs", 2)]


def test_nobody_else_is_told_and_the_systems_limit_is_no_tenants(limited: WebhookWorld) -> None:
    limited.endpoint((EVENT,), tenant=BOB)
    limited.endpoint(("job.failed",))
    for tenant in (ALICE, ALICE, BOB):
        limited.jobs.submit(submission(tenant, audio_ms=1_000))

    refuse_one(limited)
    with pytest.raises(BacklogFull):
        limited.jobs.submit(submission(BOB, audio_ms=1_000))

    assert limited.claim() is None


def test_who_asks_to_be_told_later_hears_of_the_next_refusal(limited: WebhookWorld) -> None:
    for _ in range(2):
        limited.jobs.submit(submission(audio_ms=1_000))
    refuse_one(limited)

    limited.endpoint((EVENT,))
    refuse_one(limited)

    assert len(told(limited)) == 1
