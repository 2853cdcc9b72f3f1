"""What the client repeats, what it does not, and which error comes out. Against a server that misbehaves on cue."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx
import pytest

from rhapsode import (
    AsyncRhapsode,
    BadAnswer,
    InvalidRequest,
    NotFound,
    RateLimited,
    Rhapsode,
    SecretNotShown,
    ServerError,
    ServerUnreachable,
    Unauthorized,
)
from rhapsode.client.retries import Attempts, RetryPolicy
from tests.rhapsode import answers

QUICK = RetryPolicy(attempts=3, first_delay_s=0.01, max_delay_s=0.02)
OUTPUT = answers.request()["output"] | {"a_field_of_tomorrow": [1]}
JOB = answers.job(id="job_1", a_field_of_tomorrow=[1], request=answers.request(a_field_of_tomorrow=[1], output=OUTPUT))


def problem(status: int, code: str, **more: object) -> dict[str, object]:
    return {"title": "No", "status": status, "code": code, "detail": "not now", "request_id": "req_1", **more}


def test_a_submission_is_repeated_under_one_key_after_as_long_as_the_server_asks(script: Any) -> None:
    script.answer(503, problem(503, "broker_unavailable"), {"Retry-After": "1"})
    script.answer(202, JOB)

    began_s = time.monotonic()
    with Rhapsode(script.url, retries=QUICK) as client:
        job = client.submit_job("Hello.", voice="anna", seed=7)

    assert job.id == "job_1"
    assert time.monotonic() - began_s >= 1
    first, second = script.received
    assert first.headers["idempotency-key"] == second.headers["idempotency-key"]
    assert json.loads(first.body) == {"input": {"text": "Hello."}, "voice": "anna", "seed": 7}
    assert first.body == second.body


def test_two_submissions_have_two_keys_and_a_given_key_is_kept(script: Any) -> None:
    for _ in range(3):
        script.answer(202, JOB)

    with Rhapsode(script.url) as client:
        client.submit_job("One.")
        client.submit_job("One.")
        client.submit_job("One.", idempotency_key="mine")

    first, second, third = (request.headers["idempotency-key"] for request in script.received)
    assert first != second
    assert third == "mine"


def test_a_broken_connection_is_made_again(script: Any) -> None:
    script.cut(b'{"id"')
    script.answer(202, JOB)

    with Rhapsode(script.url, retries=QUICK) as client:
        assert client.submit_job("Hello.").id == "job_1"


def test_a_twin_in_flight_is_waited_for(script: Any) -> None:
    script.answer(409, problem(409, "idempotency_in_progress"))
    script.answer(202, JOB)

    with Rhapsode(script.url, retries=QUICK) as client:
        assert client.submit_job("Hello.").id == "job_1"


def test_a_wrong_request_is_not_repeated_and_says_where_it_is_wrong(script: Any) -> None:
    errors = [{"pointer": "/voice", "code": "unknown", "detail": "there is no voice bob"}]
    script.answer(422, problem(422, "invalid_request", errors=errors))

    with Rhapsode(script.url) as client, pytest.raises(InvalidRequest) as caught:
        client.submit_job("Hello.", voice="bob")

    assert len(script.received) == 1
    assert caught.value.code == "invalid_request"
    assert caught.value.request_id == "req_1"
    assert caught.value.violations[0].where == "/voice"
    assert str(caught.value) == "not now (/voice: there is no voice bob) [422 invalid_request]"


def test_a_limit_that_asks_for_more_patience_than_the_policy_has_is_an_error(script: Any) -> None:
    script.answer(429, problem(429, "quota_exceeded"), {"Retry-After": "600"})

    with Rhapsode(script.url, retries=QUICK) as client, pytest.raises(RateLimited) as caught:
        client.submit_job("Hello.")

    assert caught.value.retry_after_s == 600
    assert len(script.received) == 1


def test_attempts_end(script: Any) -> None:
    for _ in range(3):
        script.answer(503, problem(503, "backlog_full"))

    with Rhapsode(script.url, retries=QUICK) as client, pytest.raises(ServerError):
        client.submit_job("Hello.")

    assert len(script.received) == 3


def test_an_internal_error_is_not_repeated(script: Any) -> None:
    script.answer(500, problem(500, "internal"))

    with Rhapsode(script.url, retries=QUICK) as client, pytest.raises(ServerError):
        client.job("job_1")

    assert len(script.received) == 1


def test_the_key_is_sent_and_a_refused_one_is_an_error_of_its_own(script: Any) -> None:
    script.answer(401, problem(401, "unauthorized"))

    with Rhapsode(script.url, api_key="secret") as client, pytest.raises(Unauthorized):
        client.models()

    assert script.received[0].headers["authorization"] == "Bearer secret"


def test_an_answer_of_another_kind_of_server_is_said_to_be_one(script: Any) -> None:
    script.answer(200, "<html>Welcome to the router</html>")

    with Rhapsode(script.url) as client, pytest.raises(BadAnswer, match="did not answer with a Job"):
        client.job("job_1")


def test_an_error_page_without_a_problem_keeps_its_status(script: Any) -> None:
    script.answer(404, "<html>no such page</html>")

    with Rhapsode(script.url) as client, pytest.raises(Exception, match="404") as caught:
        client.job("job_1")

    assert caught.type.__name__ == "NotFound"


def test_no_server_is_said_after_the_last_attempt() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"

    with Rhapsode(url, retries=QUICK) as client, pytest.raises(ServerUnreachable, match=url):
        client.models()


def test_a_proxy_of_the_environment_is_not_asked_for_this_machine(script: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    script.answer(200, JOB)

    with Rhapsode(script.url, retries=QUICK) as client:
        assert client.job("job_1").id == "job_1"


@pytest.mark.parametrize(
    "url",
    [
        "localhost:8765",
        "ftp://host",
        "",
        "http://",
        "http://host:8765/v1/",
        "https://[",
        "http://host:port",
        "http://a]b",
    ],
)
def test_a_url_that_is_none_is_refused_at_once(url: str) -> None:
    with pytest.raises(ValueError, match="URL"):
        Rhapsode(url)


def test_the_asyncio_client_repeats_alike(script: Any) -> None:
    script.answer(503, problem(503, "broker_unavailable"))
    script.cut(b"{")
    script.answer(202, JOB)

    async def submit() -> str:
        async with AsyncRhapsode(script.url, retries=QUICK) as client:
            return (await client.submit_job("Hello.")).id

    assert asyncio.run(submit()) == "job_1"
    assert len({request.headers["idempotency-key"] for request in script.received}) == 1


def test_a_problem_that_says_that_it_will_not_pass_is_believed(script: Any) -> None:
    script.answer(503, problem(503, "webhooks_unavailable", retryable=False))

    with Rhapsode(script.url, retries=QUICK) as client, pytest.raises(ServerError):
        client.webhooks.create("https://receiver.example.org")

    assert len(script.received) == 1


def test_a_proxys_date_is_waited_for_as_seconds_are(script: Any) -> None:
    script.answer(
        503, "come back later", {"Retry-After": format_datetime(datetime.now(UTC) + timedelta(seconds=1), True)}
    )
    script.answer(202, JOB)

    with Rhapsode(script.url, retries=QUICK) as client:
        assert client.submit_job("Hello.").id == "job_1"


def test_a_wait_that_many_were_told_ends_at_different_times_but_never_early() -> None:
    answer = httpx.Response(503, headers={"Retry-After": "10"}, request=httpx.Request("GET", "http://x/"))

    waits = {Attempts(RetryPolicy(), "x").pause_after_answer(answer) for _ in range(20)}

    assert len(waits) == 20
    assert all(10 <= wait <= 11 for wait in waits if wait is not None)


def test_every_post_is_repeated_under_one_key(script: Any) -> None:
    script.cut(b"{")
    script.answer(200, JOB)

    with Rhapsode(script.url, retries=QUICK) as client:
        client.pause("job_1")

    first, second = script.received
    assert first.headers["idempotency-key"] == second.headers["idempotency-key"]


def test_a_secret_that_was_lost_on_its_way_is_said_to_be(script: Any) -> None:
    key = {
        "id": "key_1",
        "tenant": "ann",
        "name": "x",
        "prefix": "rh_",
        "scopes": [],
        "created_at": "2026-11-21T07:00:00Z",
    }
    script.cut(b"{")
    script.answer(201, {**key, "secret": None})

    with Rhapsode(script.url, retries=QUICK) as client, pytest.raises(SecretNotShown, match="revoke the key key_1"):
        client.keys.create("ann", "x")


def test_an_error_in_openais_shape_is_read(script: Any) -> None:
    error = {
        "message": "there is no voice bob",
        "type": "invalid_request_error",
        "param": "voice",
        "code": "voice_not_found",
    }
    script.answer(404, {"error": error})

    with Rhapsode(script.url) as client, pytest.raises(NotFound) as caught:
        client.speak("Hello.", model="small", voice="bob")

    assert (caught.value.code, caught.value.violations[0].where) == ("voice_not_found", "voice")
