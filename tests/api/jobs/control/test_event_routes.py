"""The event stream: replay, following, progress, and how it ends."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from httpx_sse import connect_sse

from api.jobs.control.event_messages import PROGRESS, ProgressPace
from storage.job_store.following.event import LoggedEvent
from storage.jobs.record import ArtifactRecord, JobError
from storage.jobs.work_queues import CPU_QUEUE
from tests.api.harness import ServedApi, claim, commit, finish_job, job_id, start_job
from tests.threads import join_in_time


@dataclass(frozen=True)
class Told:
    id: str
    type: str
    payload: dict[str, Any]


def follow(api: ServedApi, job: dict[str, Any], after: str | None = None) -> Iterator[Told]:
    headers = {"Last-Event-ID": after} if after else {}
    with connect_sse(api.http, "GET", job["links"]["events"], headers=headers) as source:
        # A comment is a message without data to this library.
        for message in filter(lambda each: each.data, source.iter_sse()):
            yield Told(message.id, message.event, json.loads(message.data))


def without_progress(events: Iterator[Told]) -> list[Told]:
    return [event for event in events if event.type != PROGRESS]


def test_a_finished_jobs_whole_story_is_told_in_order(api: ServedApi) -> None:
    job = api.submit()
    finish_job(api)

    events = without_progress(follow(api, job))

    assert [event.type for event in events] == [
        "job.created",
        "job.started",
        "job.segment.completed",
        "job.segment.completed",
        "job.artifact.created",
        "job.succeeded",
    ]
    assert [event.payload["type"] for event in events] == [event.type for event in events]
    assert len({event.id for event in events}) == len(events)


def test_an_event_says_how_far_the_job_is_and_where_it_lives(api: ServedApi) -> None:
    job = api.submit()
    finish_job(api)

    segment = next(event for event in follow(api, job) if event.type == "job.segment.completed")

    data = segment.payload["data"]
    assert data["job"]["id"] == job["id"]
    assert (data["job"]["state"], data["job"]["phase"]) == ("running", "synthesizing")
    assert data["job"]["progress"] == {
        "fraction": 0.5,
        "segments_total": 2,
        "segments_done": 1,
        "chars_done": 10,
        "audio_s_done": 1.0,
    }
    assert data["detail"] == {
        "segment": 0,
        "audio_ms": 1000,
        "finish_reason": "eos",
        "attempts": 1,
        "worker": "worker",
    }
    assert data["links"] == {"self": job["links"]["self"]}
    assert segment.payload["timestamp"].endswith("Z")


def test_a_stream_continues_behind_the_last_event_the_client_had(api: ServedApi) -> None:
    job = api.submit()
    finish_job(api)
    events = without_progress(follow(api, job))

    rest = without_progress(follow(api, job, after=events[2].id))

    assert rest == events[3:]


def test_a_client_that_had_everything_gets_an_empty_stream(api: ServedApi) -> None:
    job = api.submit()
    finish_job(api)
    *_, last = follow(api, job)

    assert list(follow(api, job, after=last.id)) == []


def test_a_stream_follows_a_job_to_its_end(api: ServedApi) -> None:
    job = api.submit()
    events = follow(api, job)
    assert next(events).type == "job.created"

    worker = threading.Thread(target=finish_job, args=(api,))
    worker.start()
    rest = list(events)
    join_in_time(worker)

    assert rest[-1].type == "job.succeeded"
    assert rest[-1].payload["data"]["job"]["progress"]["fraction"] == 1.0


def test_progress_carries_the_id_of_what_it_sums_up(api: ServedApi) -> None:
    job = api.submit()
    item = start_job(api)
    events = follow(api, job)
    seen = [next(events) for _ in range(3)]
    commit(api, item)
    segment = next(events)
    api.http.post(job["links"]["cancel"])
    rest = list(events)

    assert seen[-1].type == PROGRESS
    assert segment.type == "job.segment.completed"
    assert [event.id for event in [*seen, segment] if event.type == PROGRESS] == [seen[-2].id]
    assert rest[-1].type == "job.cancelled"


def test_progress_is_due_twice_a_second_at_most_and_only_when_it_moved() -> None:
    def event(done: int) -> LoggedEvent:
        counters = {"segments_total": 9, "segments_done": done, "chars_done": done, "audio_ms_done": done}
        return LoggedEvent("1-1", "job.segment.completed", 0, {"state": "running", "phase": None, **counters})

    pace = ProgressPace(interval_s=0.05)

    assert pace.is_due(event(1), now_s=0.0)
    assert not pace.is_due(event(2), now_s=0.04)
    assert pace.is_due(event(3), now_s=0.06)
    assert not pace.is_due(event(3), now_s=9.0)


def test_a_failure_is_the_last_event_and_says_why(api: ServedApi) -> None:
    job = api.submit()
    item = start_job(api)
    api.jobs.fail(item.lease, JobError("segment_quality", "it does not stop", 0))

    *_, last = follow(api, job)

    assert last.type == "job.failed"
    assert last.payload["data"]["detail"] == {"code": "segment_quality", "detail": "it does not stop", "segment": 0}


def test_a_job_that_is_deleted_ends_its_stream(api: ServedApi, monkeypatch: pytest.MonkeyPatch) -> None:
    for interval in ("KEEP_ALIVE_S", "SILENCE_S"):
        monkeypatch.setattr(f"api.jobs.control.event_routes.{interval}", 0.1)
    job = api.submit()
    events = follow(api, job)
    assert next(events).type == "job.created"
    first = [event.type for event in (next(events),)]

    api.redis.delete(f"{{rhapsode}}:job:{job_id(job)}", f"{{rhapsode}}:events:{job_id(job)}")

    assert first == [PROGRESS]
    assert list(events) == []


def test_silence_is_filled_with_comments(api: ServedApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.jobs.control.event_routes.KEEP_ALIVE_S", 0.05)
    job = api.submit()

    with api.http.stream("GET", job["links"]["events"]) as answer:
        lines = answer.iter_lines()
        assert any(line.startswith(":") for line in lines)


def test_a_stream_is_not_to_be_buffered_or_cached(api: ServedApi) -> None:
    job = api.submit()
    finish_job(api)

    answer = api.http.get(job["links"]["events"])

    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["cache-control"] == "no-cache"
    assert answer.headers["x-accel-buffering"] == "no"


@pytest.mark.parametrize("last", ["x", "1", "$", "-", "18446744073709551616-0", "1-99999999999999999999"])
def test_a_last_event_id_of_another_stream_is_refused(api: ServedApi, last: str) -> None:
    job = api.submit()

    answer = api.http.get(job["links"]["events"], headers={"Last-Event-ID": last})

    assert (answer.status_code, answer.json()["errors"][0]["header"]) == (400, "Last-Event-ID")


def test_fifty_followers_hold_up_no_request(api: ServedApi) -> None:
    job = api.submit()
    limits = httpx.Limits(max_connections=None)
    with httpx.Client(limits=limits, timeout=30) as http:
        followers = [http.send(http.build_request("GET", job["links"]["events"]), stream=True) for _ in range(50)]

        other = api.submit("Another one.")
        api.http.post(job["links"]["cancel"])

        assert other["state"] == "pending"
        assert all("job.cancelled" in follower.read().decode() for follower in followers)


def reopen(api: ServedApi, job: dict[str, Any]) -> None:
    """Another run of an ended job, to its end."""
    answer = api.http.post(f"{job['links']['self']}/assemble")
    assert answer.status_code == 202, answer.text
    item = claim(api, CPU_QUEUE)
    api.jobs.finish(item.lease, [ArtifactRecord("narration.wav", "wav", f"{item.lease.fence}/n.wav", 4, "0" * 64, 2.0)])


def test_a_job_that_was_reopened_tells_all_its_ends(api: ServedApi) -> None:
    job = api.submit()
    finish_job(api)
    first = without_progress(follow(api, job))
    reopen(api, job)

    whole = [event.type for event in without_progress(follow(api, job))]
    rest = [event.type for event in without_progress(follow(api, job, after=first[-1].id))]

    assert rest == ["job.reopened", "job.started", "job.artifact.created", "job.succeeded"]
    assert whole == [*(event.type for event in first), *rest]


def test_a_stream_goes_on_while_a_job_is_reopened(api: ServedApi) -> None:
    job = api.submit()
    finish_job(api)
    api.http.post(f"{job['links']['self']}/assemble")
    events = follow(api, job)
    seen = [next(events).type for _ in range(3)]

    item = claim(api, CPU_QUEUE)
    api.jobs.finish(item.lease, [ArtifactRecord("narration.wav", "wav", "other/n.wav", 4, "0" * 64, 2.0)])

    assert "job.succeeded" not in seen
    assert [event.type for event in events].count("job.succeeded") == 2


def test_a_wait_does_not_take_an_earlier_end_for_the_last(api: ServedApi) -> None:
    job = api.submit()
    finish_job(api)
    api.http.post(f"{job['links']['self']}/assemble")
    begun_s = time.monotonic()

    answer = api.http.get(job["links"]["self"], headers={"Prefer": "wait=1"})

    assert (answer.json()["state"], time.monotonic() - begun_s > 0.9) == ("pending", True)


def test_what_the_log_has_lost_is_summed_up(api: ServedApi) -> None:
    job = api.submit()
    item = start_job(api, num_segments=3)
    first = next(follow(api, job))
    commit(api, item)
    api.redis.xtrim(f"{{rhapsode}}:events:{job_id(job)}", maxlen=1, approximate=False)
    api.http.post(job["links"]["cancel"])

    fresh, returning = list(follow(api, job)), list(follow(api, job, after=first.id))
    current = list(follow(api, job, after=fresh[1].id))

    for events in (fresh, returning):
        assert (events[0].type, events[0].payload["data"]["detail"]) == (PROGRESS, {"events_lost": "yes"})
        assert events[0].payload["data"]["job"]["progress"]["segments_done"] == 1
        assert events[1].type == "job.segment.completed"
    assert (fresh[0].id, returning[0].id) == ("0-0", first.id)
    assert PROGRESS not in [event.type for event in current[:1]]
