"""The event log says what happened, once and in order."""

from __future__ import annotations

from itertools import pairwise

import pytest
import redis

from storage.ids import JobId
from storage.job_store.following.event import LoggedEvent
from storage.job_store.store import JobStore
from storage.jobs.record import JobError
from storage.jobs.work_queues import CPU_QUEUE
from tests.storage.job_store.event_log import EventLog
from tests.storage.job_store.job_driver import (
    ALICE,
    GPU_QUEUE,
    artifact,
    claim,
    finish_segments,
    start_job,
    submission,
)


def run_to_the_end(store: JobStore, num_segments: int) -> JobId:
    job = start_job(store, num_segments)
    finish_segments(store, num_segments)
    store.finish(claim(store, CPU_QUEUE).lease, [artifact()])
    return job.id


def types(events: list[LoggedEvent]) -> list[str]:
    return [event.type for event in events]


def test_a_jobs_events_tell_its_story(store: JobStore, redis_client: redis.Redis) -> None:
    job_id = run_to_the_end(store, 2)

    events = EventLog(redis_client).read(job_id)

    assert types(events) == [
        "job.created",
        "job.started",
        "job.segment.completed",
        "job.segment.completed",
        "job.artifact.created",
        "job.succeeded",
    ]
    assert events[0].data == {
        "state": "pending",
        "phase": None,
        "segments_total": 0,
        "segments_done": 0,
        "chars_done": 0,
        "audio_ms_done": 0,
    }
    assert events[2].data == {
        "state": "running",
        "phase": "synthesizing",
        "segments_total": 2,
        "segments_done": 1,
        "chars_done": 10,
        "audio_ms_done": 1_000,
        "segment": 0,
        "audio_ms": 1_000,
        "finish_reason": "eos",
        "attempts": 1,
        "worker": "worker",
    }
    assert events[4].data["name"] == "narration.wav"
    assert events[5].data["audio_ms_done"] == 2_000


def test_reading_goes_on_after_an_event(store: JobStore, redis_client: redis.Redis) -> None:
    log = EventLog(redis_client)
    job_id = run_to_the_end(store, 2)
    events = log.read(job_id)

    for index, event in enumerate(events):
        assert log.read(job_id, after=event.id) == events[index + 1 :]


def test_pause_resume_and_cancel_are_events(store: JobStore, redis_client: redis.Redis) -> None:
    job = store.submit(submission()).job
    for _ in range(2):
        store.pause(ALICE, job.id)
    store.resume(ALICE, job.id)
    for _ in range(2):
        store.cancel(ALICE, job.id)

    events = EventLog(redis_client).read(job.id)

    assert types(events) == ["job.created", "job.paused", "job.resumed", "job.cancelled"]
    assert [event.data["state"] for event in events] == ["pending", "paused", "pending", "cancelled"]


def test_a_failed_segment_is_named(store: JobStore, redis_client: redis.Redis) -> None:
    job = start_job(store, 3)
    claim(store, GPU_QUEUE)
    store.fail(claim(store, GPU_QUEUE).lease, JobError("segment_quality", "it does not end"))

    *_, segment, failed = EventLog(redis_client).read(job.id)

    assert (segment.type, segment.data["segment"], segment.data["code"]) == ("job.segment.failed", 1, "segment_quality")
    assert (failed.type, failed.data["detail"]) == ("job.failed", "it does not end")


def test_the_log_of_a_long_job_is_bounded(store: JobStore, redis_client: redis.Redis) -> None:
    job = start_job(store, 1_500)
    finish_segments(store, 1_500)

    events = EventLog(redis_client).read(job.id)

    assert 500 <= len(events) <= 700
    assert events[-1].data["segments_done"] == 1_500
    done = [int(event.data["segments_done"] or 0) for event in events]
    assert all(later == earlier + 1 for earlier, later in pairwise(done))


def test_an_unknown_job_has_no_events(redis_client: redis.Redis) -> None:
    assert EventLog(redis_client).read(JobId("job_none")) == []


@pytest.mark.parametrize("after", ["", "$", "abc", "1-2-3", "1 2", "-1", "9" * 30])
def test_what_is_no_event_id_is_refused(redis_client: redis.Redis, after: str) -> None:
    with pytest.raises(ValueError, match="event id"):
        EventLog(redis_client).read(JobId("job_none"), after)
