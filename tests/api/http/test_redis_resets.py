"""Connections to Redis that break while requests are under way: come again, and never a fault of ours."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from api.settings import ApiSettings
from storage.database.async_connections import MAX_IDLE
from tests.api.harness import SMALL, ServedApi, serve
from tests.settings import api_settings_of
from tests.storage.database.resetting_proxy import ResettingProxy, resets_every, resetting_proxy
from tests.threads import BoundedExecutor

KEY = "a-key-for-tests-only"
ROUNDS = 12
AT_ONCE = 6
PATIENCE_S = 100.0


@pytest.fixture
def proxy(api_settings: ApiSettings) -> Iterator[ResettingProxy]:
    with resetting_proxy(urlsplit(api_settings.redis_url.get_secret_value()).path) as proxy:
        yield proxy


@pytest.fixture
def behind(api_settings: ApiSettings, proxy: ResettingProxy) -> Iterator[ServedApi]:
    """An API that asks for keys, and whose every word with Redis goes through the proxy."""
    password = urlsplit(api_settings.redis_url.get_secret_value()).password
    url = f"redis://:{password}@127.0.0.1:{proxy.port}/0"
    settings = api_settings_of(api_settings, redis_url=url, api_keys={hashlib.sha256(KEY.encode()).hexdigest(): "a"})
    with serve(settings) as api:
        api.http.headers["Authorization"] = f"Bearer {KEY}"
        api.models.publish(SMALL)
        yield api


def test_a_reset_is_503_with_a_time_to_come_again_and_never_500(behind: ServedApi, proxy: ResettingProxy) -> None:
    ended = behind.submit()
    assert behind.http.post(f"/v1/jobs/{ended['id']}/cancel").is_success
    job: dict[str, Any] = {"input": {"text": "Good morning, everybody."}}
    line = b'{"custom_id": "a", "input": {"text": "Good morning."}}'
    questions: tuple[tuple[str, str, dict[str, Any]], ...] = (
        ("POST", "/v1/jobs", {"json": job}),
        ("POST", "/v1/jobs", {"json": job, "headers": {"Idempotency-Key": "k"}}),
        ("GET", f"/v1/jobs/{ended['id']}", {}),
        ("GET", "/v1/jobs", {}),
        ("GET", f"/v1/jobs/{ended['id']}/events", {}),
        ("POST", "/v1/uploads", {"json": {"bytes": 10}, "headers": {"Idempotency-Key": "u"}}),
        ("POST", "/v1/batches", {"content": line, "headers": {"Content-Type": "application/jsonl"}}),
        ("GET", "/v1/voices", {}),
        ("GET", "/v1/quotas", {}),
    )

    def ask(number: int) -> httpx.Response:
        method, path, more = questions[number % len(questions)]
        return behind.http.request(method, path, **more)

    with resets_every(proxy, 0.005), BoundedExecutor(AT_ONCE) as callers:
        answers = list(callers.map(ask, range(ROUNDS * len(questions)), timeout=PATIENCE_S))

    statuses = Counter(answer.status_code for answer in answers)
    unavailable = [answer for answer in answers if answer.status_code == 503]
    assert set(statuses) <= {200, 201, 202, 503, 409}, statuses
    assert all(answer.headers["retry-after"] and answer.json()["retryable"] for answer in unavailable)
    assert proxy.resets > ROUNDS
    assert behind.http.get("/v1/jobs").status_code == 200


def test_event_streams_share_one_connection_and_leave_it(api: ServedApi) -> None:
    job = api.submit()
    num_streams = 4 * MAX_IDLE

    def connections() -> int:
        """Those that are told of events: the API has others."""
        return sum(int(each["sub"]) > 0 for each in api.redis.client_list())

    with httpx.Client(base_url=api.url, timeout=60, limits=httpx.Limits(max_connections=None)) as http:
        streams = [
            http.send(http.build_request("GET", f"/v1/jobs/{job['id']}/events"), stream=True)
            for _ in range(num_streams)
        ]
        # An iterator that nothing holds any more closes its stream.
        readers = [stream.iter_lines() for stream in streams]
        for reader in readers:
            assert next(reader)
        assert connections() == 1
        for stream in streams:
            stream.close()

    # That nothing reads a stream any more is seen a moment later.
    while connections():
        time.sleep(0.05)
