"""Batches, worked off by hand: shards become jobs, once each, and the batch knows how they ended."""

from __future__ import annotations

import pytest
import redis

from rhapsode.contract.jobs.states import JobState, Priority
from storage.errors import JobAborted
from storage.ids import JobId, new_batch_id
from storage.job_store.lists import JobQuery
from storage.job_store.store import JobStore
from storage.jobs.batch_lines import BatchLine, decode_shard, encode_shard
from storage.jobs.batches import SHARD_LINES, BatchSpec, child_id, num_shards
from storage.jobs.record import JobRecord
from storage.jobs.submissions import AdmissionLimits, Submission
from storage.jobs.work_queues import CPU_QUEUE
from storage.objects import keys
from tests.storage.audio.decoded import members_of
from tests.storage.job_store.event_log import EventLog
from tests.worker.studio import SPEC, TENANT, Studio


def line(
    batch: JobId,
    number: int,
    text: str = "One sentence.",
    not_before_ms: int | None = None,
    *,
    may_be_whole: bool = False,
) -> BatchLine:
    job = JobId(child_id(batch, number))
    submission = Submission(
        id=job,
        tenant=TENANT,
        spec=SPEC,
        priority=Priority.LOW,
        input_key=keys.input_text(TENANT, job),
        input_chars=len(text),
        estimated_audio_ms=900,
        retention_s=3600,
        metadata={"custom_id": f"clip {number}"},
        batch=batch,
        not_before_ms=not_before_ms,
    )
    return BatchLine(number, f"clip {number}", text, submission, may_be_whole)


def put_batch(studio: Studio, num_lines: int, not_before_ms: int | None = None) -> JobRecord:
    batch = new_batch_id()
    for index in range(num_shards(num_lines)):
        first = index * SHARD_LINES
        numbers = range(first, min(first + SHARD_LINES, num_lines))
        lines = [line(batch, n + 1, f"Sentence {n}.", not_before_ms) for n in numbers]
        studio.artifacts.put(keys.batch_shard(TENANT, batch, index), encode_shard(lines))
    spec = BatchSpec(num_lines, num_shards(num_lines))
    submission = Submission(batch, TENANT, spec, Priority.LOW, keys.batch_shard(TENANT, batch, 0), 0, 0, 3600)
    return studio.jobs.submit(submission).job


def jobs_of(studio: Studio, batch: JobRecord) -> list[JobRecord]:
    return list(studio.jobs.list(TENANT, JobQuery(batch=batch.id, newest_first=False, limit=1_000)).entries)


def test_a_shard_is_read_as_it_was_written_and_ids_follow_from_the_line() -> None:
    batch = new_batch_id()
    lines = (line(batch, 1), line(batch, 2, "Zwei.\nZeilen \u2028 hier."))

    assert decode_shard(encode_shard(lines)) == lines
    assert child_id(batch, 7) == child_id(batch, 7) != child_id(batch, 8)
    assert len(child_id(batch, 7)) == len("job_") + 26
    assert child_id(batch, 7)[4:14] == batch[4:14]


def test_a_line_with_a_time_becomes_a_job_that_waits_for_it(studio: Studio) -> None:
    batch, far_away_ms = new_batch_id(), 4_000_000_000_000
    lines = [line(batch, 1, not_before_ms=far_away_ms), line(batch, 2)]
    shard = keys.batch_shard(TENANT, batch, 0)
    studio.artifacts.put(shard, encode_shard(lines))
    submitted = studio.jobs.submit(Submission(batch, TENANT, BatchSpec(2, 1), Priority.LOW, shard, 0, 0, 3600)).job

    studio.drain()

    waits, spoken = (studio.jobs.get(TENANT, JobId(child_id(batch, number))) for number in (1, 2))
    assert (waits.state, waits.is_scheduled, waits.not_before_ms) == (JobState.PENDING, True, far_away_ms)
    assert spoken.state is JobState.SUCCEEDED
    assert studio.record(submitted).state is JobState.RUNNING


def test_every_line_becomes_a_job_and_the_batch_ends_with_the_last(studio: Studio, redis_client: redis.Redis) -> None:
    batch = put_batch(studio, SHARD_LINES + 3)

    studio.drain()

    jobs = jobs_of(studio, batch)
    assert len(jobs) == SHARD_LINES + 3
    assert {job.state for job in jobs} == {JobState.SUCCEEDED}
    assert {job.metadata["custom_id"] for job in jobs} == {f"clip {n + 1}" for n in range(SHARD_LINES + 3)}
    ended = studio.record(batch)
    assert (ended.state, ended.children.succeeded, ended.children.ended) == (JobState.SUCCEEDED, len(jobs), len(jobs))
    assert [event.type for event in EventLog(redis_client).read(batch.id)][-1] == "batch.completed"
    assert studio.jobs.audit_counters() == ()


LINES = ("The lamp went out.", "Nobody came.", "A sentence of its own. " * 60, "It rained.")


@pytest.mark.parametrize("may_be_whole", [True, False])
def test_lines_of_one_segment_are_one_item_each_and_end_as_three_would(may_be_whole: bool, studio: Studio) -> None:
    batch = new_batch_id()
    shard = keys.batch_shard(TENANT, batch, 0)
    lines = [line(batch, n, text, may_be_whole=may_be_whole) for n, text in enumerate(LINES, 1)]
    studio.artifacts.put(shard, encode_shard(lines))
    submitted = studio.jobs.submit(Submission(batch, TENANT, BatchSpec(4, 1), Priority.LOW, shard, 0, 0, 3600)).job

    ended = studio.drained(submitted)

    assert (ended.state, ended.children.succeeded, ended.children.ended) == (JobState.SUCCEEDED, 4, 4)
    jobs = sorted(jobs_of(studio, ended), key=lambda job: job.metadata["custom_id"])
    planned = [job.plan_key is not None for job in jobs]
    assert planned == ([False, False, True, False] if may_be_whole else [True] * 4)
    for job, text in zip(jobs, LINES, strict=True):
        assert {each.name for each in job.artifacts} == {"codes.safetensors", "manifest.json", "narration.wav"}
        assert studio.artifacts.get(job.input_key) == text.encode()
    assert studio.jobs.audit_counters() == ()


def test_jobs_of_a_batch_and_batches_are_lists_of_their_own(studio: Studio) -> None:
    alone = studio.submit()
    first, second = put_batch(studio, 2), put_batch(studio, 1)
    studio.drain()

    assert [job.id for job in studio.jobs.list_batches(TENANT, None, 10).entries] == [second.id, first.id]
    everything = {job.id for job in studio.jobs.list(TENANT, JobQuery(limit=100)).entries}
    assert everything == {alone.id, *(job.id for batch in (first, second) for job in jobs_of(studio, batch))}


def test_a_shard_worked_on_twice_makes_each_job_once(studio: Studio) -> None:
    batch = put_batch(studio, 5)
    made = {child_id(batch.id, number) for number in (1, 2, 3)}
    for number in (1, 2, 3):
        child = JobId(child_id(batch.id, number))
        key = keys.input_text(TENANT, child)
        studio.artifacts.put(key, b"Sentence 0.")
        if number != 3:  # the third died between its input and its job
            studio.jobs.submit(Submission(child, TENANT, SPEC, Priority.LOW, key, 11, 900, 3600, batch=batch.id))

    studio.drain()

    jobs = jobs_of(studio, batch)
    assert len(jobs) == 5
    assert made <= {job.id for job in jobs}
    assert studio.record(batch).children.ended == 5


def test_a_batch_waits_for_room_and_loses_no_line(studio: Studio, redis_client: redis.Redis) -> None:
    narrow = JobStore(redis_client, limits=AdmissionLimits(tenant_jobs=4))
    studio = studio.with_jobs(narrow)
    batch = put_batch(studio, 9)

    for _ in range(200):
        studio.drain()
        if studio.record(batch).state.is_terminal:
            break
        redis_client.zadd("{rhapsode}:retries", dict.fromkeys(members_of(redis_client, "{rhapsode}:retries"), 0))
        narrow.reap()

    assert studio.record(batch).children.succeeded == 9
    assert studio.record(batch).retries == 0
    assert narrow.audit_counters() == ()


def test_no_line_becomes_a_job_once_the_batch_is_cancelled(studio: Studio) -> None:
    batch = put_batch(studio, 3)
    studio.jobs.cancel(TENANT, batch.id)

    child = JobId(child_id(batch.id, 1))
    with pytest.raises(JobAborted):
        studio.jobs.submit(Submission(child, TENANT, SPEC, Priority.LOW, "k", 1, 900, 3600, batch=batch.id))
    studio.drain()

    assert jobs_of(studio, batch) == []
    assert studio.record(batch).state is JobState.CANCELLED


def test_a_failed_line_does_not_stop_the_others(studio: Studio) -> None:
    batch = put_batch(studio, 3)
    studio.run_one(CPU_QUEUE)
    victim = JobId(child_id(batch.id, 2))
    studio.jobs.cancel(TENANT, victim)

    ended = studio.drained(batch)

    assert (ended.state, ended.children.succeeded, ended.children.cancelled) == (JobState.SUCCEEDED, 2, 1)


def test_a_deleted_batch_leaves_its_jobs(studio: Studio, redis_client: redis.Redis) -> None:
    batch = put_batch(studio, 2)
    studio.drain()
    jobs = jobs_of(studio, batch)

    studio.jobs.delete(TENANT, batch.id)

    assert [studio.record(job).state for job in jobs] == [JobState.SUCCEEDED] * 2
    assert [name for name in redis_client.scan_iter() if batch.id in name and "tombstone" not in name] == []
