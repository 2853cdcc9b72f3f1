"""Batches, worked off by hand: shards become jobs, once each, and the batch knows how they ended."""

from __future__ import annotations

from dataclasses import replace

import pytest
import redis

from rhapsode.contract.jobs.states import JobState, Priority
from storage.errors import JobAborted
from storage.ids import JobId, new_batch_id
from storage.job_store.events import EventLog
from storage.job_store.lists import JobQuery
from storage.job_store.store import JobStore
from storage.jobs.batches import SHARD_LINES, BatchLine, BatchSpec, child_id, decode_shard, encode_shard, num_shards
from storage.jobs.record import JobRecord
from storage.jobs.record_codec import encode_spec
from storage.jobs.submissions import AdmissionLimits, Submission
from storage.jobs.work_queues import CPU_QUEUE
from storage.objects import keys
from tests.storage.audio.decoded import members_of
from tests.worker.studio import SPEC, TENANT, Studio


def line(number: int, text: str = "One sentence.") -> BatchLine:
    return BatchLine(number, f"clip {number}", encode_spec(SPEC), text, len(text), 900, "low", 3600)


def put_batch(studio: Studio, num_lines: int, not_before_ms: int | None = None) -> JobRecord:
    batch = new_batch_id()
    for index in range(num_shards(num_lines)):
        first = index * SHARD_LINES
        lines = [line(n + 1, f"Sentence {n}.") for n in range(first, min(first + SHARD_LINES, num_lines))]
        timed = [replace(each, not_before_ms=not_before_ms) for each in lines]
        studio.artifacts.put(keys.batch_shard(TENANT, batch, index), encode_shard(timed))
    spec = BatchSpec(num_lines, num_shards(num_lines))
    submission = Submission(batch, TENANT, spec, Priority.LOW, keys.batch_shard(TENANT, batch, 0), 0, 0, 3600)
    return studio.jobs.submit(submission).job


def jobs_of(studio: Studio, batch: JobRecord) -> list[JobRecord]:
    return list(studio.jobs.list(TENANT, JobQuery(batch=batch.id, newest_first=False, limit=1_000)).jobs)


def test_a_shard_is_read_as_it_was_written_and_ids_follow_from_the_line() -> None:
    lines = (line(1), line(2, "Zwei.\nZeilen \u2028 hier."))
    batch = new_batch_id()

    assert decode_shard(encode_shard(lines)) == lines
    assert child_id(batch, 7) == child_id(batch, 7) != child_id(batch, 8)
    assert len(child_id(batch, 7)) == len("job_") + 26
    assert child_id(batch, 7)[4:14] == batch[4:14]


def test_a_line_with_a_time_becomes_a_job_that_waits_for_it(studio: Studio) -> None:
    batch, far_away_ms = new_batch_id(), 4_000_000_000_000
    lines = [replace(line(1), not_before_ms=far_away_ms), line(2)]
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
    assert studio.jobs.audit_counters().differences == ()


def test_jobs_of_a_batch_and_batches_are_lists_of_their_own(studio: Studio) -> None:
    alone = studio.submit()
    first, second = put_batch(studio, 2), put_batch(studio, 1)
    studio.drain()

    assert [job.id for job in studio.jobs.list_batches(TENANT, None, 10).jobs] == [second.id, first.id]
    everything = {job.id for job in studio.jobs.list(TENANT, JobQuery(limit=100)).jobs}
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
    assert narrow.audit_counters().differences == ()


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

    studio.drain()

    ended = studio.record(batch)
    assert (ended.state, ended.children.succeeded, ended.children.cancelled) == (JobState.SUCCEEDED, 2, 1)


def test_a_deleted_batch_leaves_its_jobs(studio: Studio, redis_client: redis.Redis) -> None:
    batch = put_batch(studio, 2)
    studio.drain()
    jobs = jobs_of(studio, batch)

    studio.jobs.delete(TENANT, batch.id)

    assert [studio.record(job).state for job in jobs] == [JobState.SUCCEEDED] * 2
    assert [name for name in redis_client.scan_iter() if batch.id in name and "tombstone" not in name] == []
