"""What is counted of a job is what lies in the store, and what was made is counted once; real items, real objects."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import redis

from rhapsode.contract.jobs.output import Output, Timestamps
from storage.job_store.control import JobControl
from storage.jobs.record import JobRecord
from storage.narration.spec import NarrationSpec
from storage.objects import keys
from storage.tenants.quotas import Quotas, QuotaStore
from storage.tenants.usage import Amounts, UsageLedger, total
from tests.worker.studio import SPEC, TENANT, TEXT, Studio


def stored_bytes(redis_client: redis.Redis) -> int:
    return QuotaStore(redis_client, Quotas(1, 1, 1, None)).held(TENANT).stored_bytes


def made_bytes(studio: Studio, job: JobRecord) -> int:
    """Of all objects of the job but its input, which the studio stores without telling."""
    objects = studio.artifacts.list(keys.job_prefix(TENANT, job.id))
    return sum(entry.bytes for entry in objects if entry.key != job.input_key)


def used(redis_client: redis.Redis) -> Amounts:
    """Since yesterday: midnight may pass."""
    today = datetime.now(UTC).date()
    return total(UsageLedger(redis_client).read(TENANT, today - timedelta(days=1), today + timedelta(days=1)))


def test_what_is_counted_lies_in_the_store(studio: Studio, redis_client: redis.Redis) -> None:
    job = studio.submit()
    studio.drain()

    assert stored_bytes(redis_client) == made_bytes(studio, job) > 0

    def with_timestamps(_: NarrationSpec) -> NarrationSpec:
        return SPEC.asking(output=Output(timestamps=Timestamps.SEGMENT))

    JobControl(redis_client).assemble(TENANT, job.id, with_timestamps, None)
    studio.drain()
    assert stored_bytes(redis_client) == made_bytes(studio, job)

    studio.jobs.delete(TENANT, job.id)
    assert stored_bytes(redis_client) == 0


def test_a_second_narration_of_the_text_is_used_as_copies(studio: Studio, redis_client: redis.Redis) -> None:
    first = studio.submit()
    studio.drain()
    spoken = used(redis_client)
    studio.submit()
    studio.drain()
    both = used(redis_client)

    record = studio.record(first)
    assert (spoken.segments, spoken.characters) == (record.segments.total, len(TEXT))
    assert abs(spoken.audio_ms - 1000 * record.samples_done / record.sample_rate_hz) < record.segments.total
    assert spoken.cached_audio_ms == 0
    assert (both.segments, both.characters) == (2 * spoken.segments, 2 * spoken.characters)
    assert both.cached_audio_ms == spoken.audio_ms
    assert both.engine_ms == spoken.engine_ms
