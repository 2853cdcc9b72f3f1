"""Requests that wait: they keep nothing of the layers that they have left, and their answers lack nothing of them."""

from __future__ import annotations

import gc
import re
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.requests import Request

from api.settings import ApiSettings
from storage.database.embedded_valkey import EmbeddedRedis
from tests.api.harness import SMALL, ServedApi, serve, until_under_way
from tests.api.jobs.answers.test_waiting import answer_of, asked, num_channels, path_of
from tests.settings import api_settings_of
from tests.threads import BoundedExecutor, join_in_time
from tests.waiting import until

WAITERS = 30


def num_requests_known() -> int:
    # By its type: `isinstance` asks the object, and some answer with a warning.
    return sum(issubclass(type(each), Request) for each in gc.get_objects())


def held(api: ServedApi, path: str, **headers: str) -> httpx.Response:
    """Without the harness' own client, which one thread uses at a time."""
    return httpx.get(f"{api.url}{path}", headers={"Prefer": "wait=60", **headers}, timeout=90, trust_env=False)


@pytest.mark.parametrize("rest", ["", "/events"])
def test_a_request_that_waits_keeps_nothing_of_the_framework(api: ServedApi, rest: str) -> None:
    jobs = [api.submit(f"This is text number {number}.") for number in range(WAITERS)]
    known = num_requests_known()

    with ExitStack() as connections:
        for job in jobs:
            connections.enter_context(asked(api, path_of(job) + rest))
        until_under_way(api, WAITERS)
        until(lambda: num_channels(api) == WAITERS)

        assert num_requests_known() - known < WAITERS


def test_an_answer_that_was_held_has_the_fields_of_every_answer(api: ServedApi) -> None:
    job = api.submit()
    with BoundedExecutor(1) as pool:
        answer = pool.submit(held, api, path_of(job), **{"X-Request-ID": "mine.1", "If-None-Match": '"old"'})
        until(lambda: num_channels(api) == 1)
        api.http.post(f"{path_of(job)}/cancel")

        at_once = api.http.get(path_of(job), headers={"X-Request-ID": "mine.1", "Prefer": "wait=0"})
        late = answer.result()

    assert late.status_code == 200
    assert late.headers["x-request-id"] == "mine.1"
    assert late.headers["preference-applied"] == "wait=60"
    assert set(late.headers) == set(at_once.headers)
    assert late.json()["state"] == "cancelled"


def test_a_held_request_is_counted_once_with_all_of_its_time(api: ServedApi) -> None:
    job = api.submit()
    before = _measured(api)
    with BoundedExecutor(1) as pool:
        answer = pool.submit(held, api, path_of(job))
        until(lambda: num_channels(api) == 1)
        time.sleep(0.5)
        api.http.post(f"{path_of(job)}/cancel")
        answer.result()

    count, seconds = (after - then for after, then in zip(_measured(api), before, strict=True))
    assert count == 1
    assert seconds >= 0.5


def _measured(api: ServedApi) -> tuple[float, float]:
    text = api.http.get("/metrics").text
    name, route = "rhapsode_http_request_duration_seconds", '{route="/v1/jobs/{job_id}"}'
    return _value(text, f"{name}_count{route}"), _value(text, f"{name}_sum{route}")


def _value(text: str, name: str) -> float:
    found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
    return float(found[1]) if found else 0.0


def test_a_job_that_is_deleted_while_its_answer_is_held_is_gone(api: ServedApi) -> None:
    job = api.submit()
    with asked(api, path_of(job), "wait=2") as connection:
        until(lambda: num_channels(api) == 1)
        api.redis.delete(f"{{rhapsode}}:job:{job['id']}", f"{{rhapsode}}:events:{job['id']}")
        answer = answer_of(connection)

    assert answer.startswith("HTTP/1.1 404")
    assert "application/problem+json" in answer
    assert "x-content-type-options" in answer.lower()


def test_a_store_that_is_away_at_the_end_of_the_wait_is_a_problem_with_the_request_s_id(
    api_settings: ApiSettings, data_dir: Path
) -> None:
    with EmbeddedRedis(data_dir / "valkey") as valkey:
        settings = api_settings_of(api_settings, redis_url=valkey.url, broker_url=valkey.broker_url)
        with serve(settings) as api:
            api.models.publish(SMALL)
            job = api.submit()
            answers: list[httpx.Response] = []
            headers = {"Prefer": "wait=2", "X-Request-ID": "mine.2"}
            waiting = threading.Thread(target=lambda: answers.append(held(api, path_of(job), **headers)))
            waiting.start()
            until(lambda: num_channels(api) == 1)
            valkey.stop()
            join_in_time(waiting)

    (answer,) = answers
    body: dict[str, Any] = answer.json()
    assert (answer.status_code, body["code"], body["request_id"]) == (503, "storage_unavailable", "mine.2")
    assert answer.headers["x-request-id"] == "mine.2"
