"""Event streams that break, and waits, against a server that misbehaves on cue."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from rhapsode import AsyncRhapsode, BadAnswer, JobEvent, NotFound, Rhapsode, WaitTimedOut
from rhapsode.client.retries import RetryPolicy
from tests.rhapsode import answers

QUICK = RetryPolicy(attempts=3, first_delay_s=0.01, max_delay_s=0.02)
STREAM = {"Content-Type": "text/event-stream"}


def event(number: int, kind: str, state: str = "running") -> bytes:
    progress = {"fraction": 0.1, "segments_total": 9, "segments_done": number, "chars_done": 1, "audio_s_done": 2.5}
    data = {
        "type": kind,
        "timestamp": "2026-11-21T07:00:00Z",
        "data": {
            "job": {"id": "job_1", "state": state, "phase": None, "progress": progress},
            "detail": {"index": number},
            "links": {"self": "/v1/jobs/job_1"},
        },
    }
    return f"id: {number}-0\nevent: {kind}\ndata: {json.dumps(data)}\n\n".encode()


def job(state: str) -> dict[str, Any]:
    return answers.job(id="job_1", state=state)


def read_all(url: str) -> list[JobEvent]:
    with Rhapsode(url, retries=QUICK) as client:
        return list(client.events("job_1"))


def read_all_async(url: str) -> list[JobEvent]:
    async def read() -> list[JobEvent]:
        async with AsyncRhapsode(url, retries=QUICK) as client:
            return [event async for event in client.events("job_1")]

    return asyncio.run(read())


both_clients = pytest.mark.parametrize("read", [read_all, read_all_async])


@both_clients
def test_a_broken_stream_continues_behind_the_last_event(script: Any, read: Any) -> None:
    script.cut(event(1, "job.created") + b": keep-alive\n\n" + event(2, "job.started"), STREAM)
    script.stream(event(3, "job.segment.completed") + event(4, "job.succeeded", "succeeded"))

    events = read(script.url)

    assert [each.id for each in events] == ["1-0", "2-0", "3-0", "4-0"]
    assert [each.type for each in events][-1] == "job.succeeded"
    assert events[2].job.progress.segments_done == 3
    assert events[2].detail == {"index": 3}
    assert "last-event-id" not in script.received[0].headers
    assert script.received[1].headers["last-event-id"] == "2-0"


@both_clients
def test_half_an_event_at_the_break_is_not_an_event(script: Any, read: Any) -> None:
    script.cut(event(1, "job.created") + event(2, "job.succeeded")[:40], STREAM)
    script.stream(event(2, "job.succeeded", "succeeded"))

    assert [each.id for each in read(script.url)] == ["1-0", "2-0"]


@both_clients
def test_a_job_whose_log_is_gone_ends_the_iteration(script: Any, read: Any) -> None:
    script.stream(b": nothing\n\n")
    script.answer(200, job("succeeded"))

    assert read(script.url) == []


@both_clients
def test_a_stream_of_an_unknown_job_is_an_error(script: Any, read: Any) -> None:
    script.answer(404, {"title": "Not found", "status": 404, "code": "not_found", "detail": "no such job"})

    with pytest.raises(NotFound, match="no such job"):
        read(script.url)


def test_an_event_that_cannot_be_read_is_an_error(script: Any) -> None:
    script.stream(b"id: 1-0\ndata: {}\n\n")

    with pytest.raises(BadAnswer, match="not an event"):
        read_all(script.url)


def test_a_wait_has_an_end(script: Any) -> None:
    for _ in range(5):
        script.answer(200, job("running"))

    with Rhapsode(script.url) as client, pytest.raises(WaitTimedOut, match="job_1 is still running") as caught:
        client.wait("job_1", timeout_s=0.6)

    assert caught.value.job.state == "running"
    assert script.received[0].headers["prefer"] == "wait=1"


def test_a_wait_returns_the_ended_job_however_it_ended(script: Any) -> None:
    script.answer(200, job("running"))
    script.answer(200, job("failed"))

    with Rhapsode(script.url) as client:
        assert client.wait("job_1").state == "failed"

    assert script.received[0].headers["prefer"] == "wait=30"
