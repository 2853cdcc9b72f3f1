"""Answers that are held: over one connection to Redis, until the job ends, the client goes, or the time is over."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.settings import ApiSettings
from storage.database.embedded_valkey import EmbeddedRedis
from tests.api.harness import SMALL, ServedApi, finish_job, serve, until_under_way
from tests.settings import api_settings_of
from tests.threads import BoundedExecutor, join_in_time
from tests.waiting import until

PATIENCE_S = 60.0


def num_channels(api: ServedApi) -> int:
    return len(api.redis.pubsub_channels())


@contextmanager
def asked(api: ServedApi, path: str, prefer: str = "wait=60") -> Generator[socket.socket]:
    """A connection on which the job at `path` was asked for."""
    host, port = api.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as connection:
        lines = (f"GET {path} HTTP/1.1", "Host: localhost", f"Prefer: {prefer}", "Connection: close", "", "")
        connection.sendall("\r\n".join(lines).encode())
        yield connection


def answer_of(connection: socket.socket) -> str:
    parts: list[bytes] = []
    while part := connection.recv(65_536):
        parts.append(part)
    return b"".join(parts).decode()


def path_of(job: dict[str, Any]) -> str:
    return f"/v1/jobs/{job['id']}"


def test_hundreds_of_held_answers_cost_redis_no_connection_and_no_command(api: ServedApi) -> None:
    jobs = [api.submit(f"This is text number {number}.") for number in range(10)]
    with ExitStack() as open_connections:
        connections = [open_connections.enter_context(asked(api, path_of(job))) for job in jobs for _ in range(40)]
        until_under_way(api, len(connections))
        until(lambda: num_channels(api) == len(jobs))

        # Those of the threads in which requests are worked on are as many as ever.
        assert len(api.redis.client_list(_type="pubsub")) == 1
        blocked = api.redis.info("clients")["blocked_clients"]
        for job in jobs:
            api.http.post(f"{path_of(job)}/cancel")
        answers = [answer_of(connection) for connection in connections]

    assert blocked == 0
    assert all('"cancelled"' in answer for answer in answers)
    until(lambda: num_channels(api) == 0)


def test_a_submission_that_waits_is_followed_from_before_its_job_is_there(api: ServedApi) -> None:
    def log_reads() -> int:
        return api.redis.info("commandstats").get("cmdstat_xrevrange", {"calls": 0})["calls"]

    def submitted(number: int) -> httpx.Response:
        body = {"input": {"text": f"This is text number {number}."}}
        return httpx.post(f"{api.url}/v1/jobs", json=body, headers={"Prefer": "wait=60"}, timeout=90, trust_env=False)

    def cancelled() -> bool:
        jobs = api.http.get("/v1/jobs").json()["data"]
        pending = [job for job in jobs if job["state"] == "pending"]
        return any(api.http.post(f"{path_of(job)}/cancel").is_success for job in pending)

    before = log_reads()
    with BoundedExecutor(1) as pool:
        for number in range(5):
            waiting = pool.submit(submitted, number)
            until(cancelled)
            assert waiting.result().json()["state"] == "cancelled"

    # The connection to Redis is made for the first of them, and may be late.
    assert log_reads() - before <= 2
    until(lambda: num_channels(api) == 0)


def test_a_client_that_goes_is_waited_for_no_longer(api: ServedApi) -> None:
    job = api.submit()

    with asked(api, path_of(job)):
        until(lambda: num_channels(api) == 1)

    until(lambda: num_channels(api) == 0)


def test_a_client_of_an_event_stream_that_goes_is_forgotten(api: ServedApi) -> None:
    job = api.submit()

    with asked(api, f"{path_of(job)}/events") as connection:
        connection.recv(1)
        until(lambda: num_channels(api) == 1)

    until(lambda: num_channels(api) == 0)


@pytest.fixture
def own_valkey(data_dir: Path) -> Generator[EmbeddedRedis]:
    with EmbeddedRedis(data_dir / "valkey") as server:
        yield server


def test_who_waits_while_redis_is_killed_is_told_when_it_is_back_by_every_process(
    own_valkey: EmbeddedRedis, api_settings: ApiSettings
) -> None:
    settings = api_settings_of(api_settings, redis_url=own_valkey.url, broker_url=own_valkey.broker_url)
    with serve(settings) as api, serve(settings) as other, BoundedExecutor(4) as pool:
        api.models.publish(SMALL)
        job = api.submit()
        for each in (api, other):
            # A first request builds routes, which two threads of one process cannot do at the same time.
            for path in (path_of(job), "/v1/jobs/job_none/events", "/metrics"):
                each.http.get(path)
        lines: tuple[list[str], ...] = ([], [])
        held = [pool.submit(_held, each, job) for each in (api, other)]
        told = [pool.submit(_listen, each, job, heard) for each, heard in zip((api, other), lines, strict=True)]
        until(lambda: all("event: job.created" in heard for heard in lines))
        # Both processes' figures are the same here, where they are threads.
        until(lambda: "rhapsode_followers 4.0" in api.http.get("/metrics").text)
        assert own_valkey.pid is not None
        os.kill(own_valkey.pid, signal.SIGKILL)
        own_valkey.stop()
        own_valkey.start()
        finish_job(api)

        assert [answer.result().json()["state"] for answer in held] == ["succeeded"] * 2
        for listening, heard in zip(told, lines, strict=True):
            listening.result()
            types = [line.removeprefix("event: ") for line in heard if line.startswith("event: ")]
            assert [each for each in types if each != "job.progress"] == [
                "job.created",
                "job.started",
                "job.segment.completed",
                "job.segment.completed",
                "job.artifact.created",
                "job.succeeded",
            ]


def _held(api: ServedApi, job: dict[str, Any]) -> httpx.Response:
    return httpx.get(f"{api.url}{path_of(job)}", headers={"Prefer": "wait=60"}, timeout=90, trust_env=False)


def _listen(api: ServedApi, job: dict[str, Any], heard: list[str]) -> None:
    with httpx.stream("GET", f"{api.url}{path_of(job)}/events", timeout=90, trust_env=False) as answer:
        for line in answer.iter_lines():
            heard.append(line)


def test_a_stream_of_a_process_that_stops_goes_on_at_another_where_it_was(api_settings: ApiSettings) -> None:
    with serve(api_settings) as other:
        other.models.publish(SMALL)
        job = other.submit()
        with serve(api_settings, grace_s=30) as api:
            lines: list[str] = []
            listening = threading.Thread(target=_listen, args=(api, job, lines))
            listening.start()
            until(lambda: "event: job.created" in lines)
        # The process has stopped long before its grace was over: its streams end by themselves.
        join_in_time(listening)
        ids = [line.removeprefix("id: ") for line in lines if line.startswith("id: ")]
        finish_job(other)

        rest = httpx.get(
            f"{other.url}{path_of(job)}/events", headers={"Last-Event-ID": ids[-1]}, timeout=90, trust_env=False
        )

        assert "event: job.created" in lines
        assert [line for line in rest.text.splitlines() if line.startswith("event: ") and "progress" not in line] == [
            f"event: job.{name}"
            for name in ("started", "segment.completed", "segment.completed", "artifact.created", "succeeded")
        ]
