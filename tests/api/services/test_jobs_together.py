"""Jobs that many ask for at the same time are read together, and each asker is told of the one asked for."""

from __future__ import annotations

import asyncio

import pytest
import redis

from api.services.jobs_together import BATCH, JobNow, JobsTogether
from storage.errors import JobNotFound
from storage.ids import JobId, TenantId
from storage.job_store.queue_position import QueuePositions
from storage.job_store.store import JobStore
from tests.storage.job_store.job_driver import ALICE, submission

JOBS = 2 * BATCH


@pytest.fixture
def together(redis_client: redis.Redis) -> JobsTogether:
    return JobsTogether(JobStore(redis_client), QueuePositions(redis_client))


def test_many_jobs_take_few_round_trips(redis_client: redis.Redis, together: JobsTogether) -> None:
    store = JobStore(redis_client)
    ids = [store.submit(submission(audio_ms=1_000)).job.id for _ in range(JOBS)]
    store.cancel(ALICE, ids[0])
    before = redis_client.info("stats")["total_reads_processed"]

    async def ask() -> list[JobNow]:
        return await asyncio.gather(*(together.now(ALICE, job_id) for job_id in ids))

    found = asyncio.run(ask())

    assert redis_client.info("stats")["total_reads_processed"] - before < 20
    assert [each.record.id for each in found] == ids
    assert [each.place is None for each in found] == [True] + [False] * (JOBS - 1)


def test_a_job_that_is_not_there_is_missed_by_its_asker_alone(
    redis_client: redis.Redis, together: JobsTogether
) -> None:
    there = JobStore(redis_client).submit(submission()).job.id

    async def ask() -> list[JobNow | BaseException]:
        asked = ((ALICE, there), (ALICE, JobId("job_none")), (TenantId("mallory"), there))
        return await asyncio.gather(*(together.now(*each) for each in asked), return_exceptions=True)

    first, *others = asyncio.run(ask())

    assert isinstance(first, JobNow)
    assert all(isinstance(each, JobNotFound) for each in others)
