"""The end of a job reaches those who follow it, also while nothing tells this process of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import NoReturn

import httpx
import pytest

from api.settings import ApiSettings
from storage.audio.wav import streaming_wav_header
from storage.job_store.following.subscription import EventSubscription
from tests.api.harness import SMALL, ServedApi, job_id, serve
from tests.api.jobs.segments.heard_jobs import RATE_HZ, claim_all, finish, pcm, planned_job, speak

PATIENCE_S = 60.0
"""No request here ends by its own limit before."""


@pytest.fixture
def deaf(api_settings: ApiSettings, monkeypatch: pytest.MonkeyPatch) -> Iterator[ServedApi]:
    """An API whose telling task is down all the time."""

    async def ends(_: EventSubscription) -> NoReturn:
        raise AttributeError("held down by the test")

    monkeypatch.setattr(EventSubscription, "run", ends)
    for module in ("api.jobs.control.event_routes", "api.jobs.answers.waiting", "api.jobs.segments.following"):
        monkeypatch.setattr(f"{module}.SILENCE_S", 0.5)
    monkeypatch.setattr("api.jobs.control.event_routes.KEEP_ALIVE_S", 0.1)
    with serve(api_settings) as api:
        api.models.publish(SMALL)
        yield api


def in_background(read: Callable[[], object]) -> Callable[[], object]:
    """Begins to read; returns what waits for the result."""
    results: list[object] = []
    reader = threading.Thread(target=lambda: results.append(read()), daemon=True)
    reader.start()

    def result() -> object:
        reader.join(PATIENCE_S)
        assert not reader.is_alive(), "it did not end"
        return results[0]

    return result


def test_the_events_of_a_job_that_had_ended_before(deaf: ServedApi) -> None:
    job = deaf.submit()
    assert deaf.http.post(f"/v1/jobs/{job['id']}/cancel").is_success

    told = in_background(lambda: httpx.get(job["links"]["events"], timeout=PATIENCE_S).text)()

    assert isinstance(told, str)
    assert [told.count(f"event: {kind}") for kind in ("job.created", "job.cancelled")] == [1, 1]


def test_the_events_of_a_job_that_ends_meanwhile(deaf: ServedApi) -> None:
    job = deaf.submit()
    begun = threading.Event()

    def follow() -> str:
        with httpx.stream("GET", job["links"]["events"], timeout=PATIENCE_S) as answer:
            lines = answer.iter_lines()
            heard = [next(lines)]
            begun.set()
            return "\n".join((*heard, *lines))

    following = in_background(follow)
    assert begun.wait(PATIENCE_S)
    assert deaf.http.post(f"/v1/jobs/{job['id']}/cancel").is_success
    told = following()

    assert isinstance(told, str)
    assert [told.count(f"event: {kind}") for kind in ("job.created", "job.cancelled")] == [1, 1]


def test_the_events_of_a_job_that_is_deleted(deaf: ServedApi) -> None:
    job = deaf.submit()

    following = in_background(lambda: httpx.get(job["links"]["events"], timeout=PATIENCE_S).text)
    deaf.redis.delete(f"{{rhapsode}}:job:{job_id(job)}", f"{{rhapsode}}:events:{job_id(job)}")

    assert following() is not None


def test_an_answer_that_is_held(deaf: ServedApi, monkeypatch: pytest.MonkeyPatch) -> None:
    # Far beyond the reader's patience: only the job's end ends the wait.
    monkeypatch.setattr("api.jobs.answers.waiting.MAX_WAIT_S", 3_600)
    job = deaf.submit()
    path, headers = f"{deaf.url}/v1/jobs/{job['id']}", {"Prefer": "wait=3600"}

    waiting = in_background(lambda: httpx.get(path, headers=headers, timeout=PATIENCE_S).json()["state"])
    assert deaf.http.post(f"/v1/jobs/{job['id']}/cancel").is_success

    assert waiting() == "cancelled"


def test_audio_while_it_is_made(deaf: ServedApi) -> None:
    job = planned_job(deaf, 1)

    listening = in_background(lambda: httpx.get(f"{deaf.url}/v1/jobs/{job}/audio", timeout=PATIENCE_S).content)
    speak(deaf, claim_all(deaf, 1)[0])
    finish(deaf)

    heard = listening()
    assert isinstance(heard, bytes)
    assert heard.endswith(pcm(0))
    assert len(heard) == len(streaming_wav_header(RATE_HZ) + pcm(0))
