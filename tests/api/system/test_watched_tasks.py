"""Each background task of an API process is killed: it is logged, `/readyz` names it, and it comes back."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any, NoReturn

import httpx
import pytest

from api.live.accounts import Accounts
from api.live.lateness import Lateness
from api.live.link import WorkerLink
from api.live.workers import LiveWorkers
from api.settings import ApiSettings
from storage.job_store.following.subscription import EventSubscription
from storage.live.address import LiveAddress
from storage.queue.worker_registry import WorkerRegistry, WorkerReport, WorkerRole
from storage.recovery.journal import Journal
from tests.api.harness import SMALL, ServedApi, serve
from tests.waiting import until

PATIENCE_S = 60.0


@pytest.fixture
def own_api(api_settings: ApiSettings) -> Iterator[ServedApi]:
    with serve(api_settings) as api:
        api.models.publish(SMALL)
        yield api


def killed(*_: object, **__: object) -> NoReturn:
    raise AttributeError("killed by the test")


def readiness(api: ServedApi) -> tuple[int, str, list[str]]:
    answer = api.http.get("/readyz")
    return answer.status_code, answer.json()["status"], answer.json()["tasks_down"]


def reasons_of(api: ServedApi) -> list[str]:
    return [reason.partition(" (since ")[0] for reason in api.http.get("/readyz").json()["reasons"]]


def metric(api: ServedApi, name: str, task: str) -> float:
    (line,) = (
        each for each in api.http.get("/metrics").text.splitlines() if each.startswith(f'{name}{{task="{task}"}}')
    )
    return float(line.split()[1])


def die_and_come_back(
    api: ServedApi, task: str, step: tuple[type, str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """step: a method that the task calls now and then."""
    with monkeypatch.context() as broken:
        broken.setattr(*step, killed)
        until(lambda: readiness(api) == (503, "unavailable", [task]))
        until(lambda: reasons_of(api)[:1] == [f"background tasks failed and will restart: {task}"])
        until(lambda: metric(api, "rhapsode_background_tasks_down", task) == 1)
    until(lambda: readiness(api) == (200, "ready", []))
    until(lambda: metric(api, "rhapsode_background_tasks_down", task) == 0)
    assert metric(api, "rhapsode_background_task_failures_total", task) >= 1
    ends = [each for each in caplog.records if each.message == "a background task ended unexpectedly"]
    assert {each.__dict__["task"] for each in ends} == {task}
    assert "AttributeError: killed by the test" in caplog.text


@pytest.mark.parametrize(
    ("task", "step"),
    [
        ("live-workers", (LiveWorkers, "_look")),
        ("live-accounts", (Accounts, "tell")),
        ("live-speech", (Lateness, "note")),
        ("journal", (Journal, "write_now")),
    ],
)
def test_a_task_comes_back(
    task: str,
    step: tuple[type, str],
    own_api: ServedApi,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    until(lambda: readiness(own_api) == (200, "ready", []))

    die_and_come_back(own_api, task, step, monkeypatch, caplog)


def test_a_link_to_a_worker_comes_back(
    own_api: ServedApi, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    # Nothing answers there: the link tries again and again.
    address = LiveAddress("ws://127.0.0.1:1", token="a", live_slots=1, free=1, revision="r1")
    report = WorkerReport("gpu-1", WorkerRole.GPU, "host", 1, "1", 0, 0, live=address)
    WorkerRegistry(own_api.redis).report(report)

    die_and_come_back(own_api, "live-link", (WorkerLink, "_report"), monkeypatch, caplog)


def test_followers_hear_of_their_jobs_again(
    own_api: ServedApi, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    job = own_api.submit()
    streams: list[str] = []
    waits: list[dict[str, Any]] = []

    def follow() -> None:
        streams.append(httpx.get(job["links"]["events"], timeout=PATIENCE_S).text)

    def wait() -> None:
        waits.append(httpx.get(f"{own_api.url}/v1/jobs/{job['id']}", headers={"Prefer": "wait=60"}, timeout=90).json())

    readers = [threading.Thread(target=read, daemon=True) for read in (follow, wait)]
    for reader in readers:
        reader.start()
    until(lambda: len(own_api.redis.pubsub_channels()) == 1)

    with monkeypatch.context() as broken:
        broken.setattr(EventSubscription, "_take", killed)
        # The first event that is told kills the task.
        own_api.redis.publish(own_api.redis.pubsub_channels()[0], "anything")
        until(lambda: readiness(own_api) == (503, "unavailable", ["event-feeds"]))
    until(lambda: readiness(own_api) == (200, "ready", []))
    until(lambda: len(own_api.redis.pubsub_channels()) == 1)
    assert own_api.http.post(f"/v1/jobs/{job['id']}/cancel").is_success
    for reader in readers:
        reader.join(PATIENCE_S)

    assert [stream.count("event: job.cancelled") for stream in streams] == [1]
    assert [job["state"] for job in waits] == ["cancelled"]
    assert "AttributeError: killed by the test" in caplog.text
