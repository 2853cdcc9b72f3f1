"""What is answered before the framework is answered as the framework would."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from starlette.routing import Route

from api import frequent_requests
from api.app import create_app
from api.frequent_requests import FREQUENT
from api.jobs.control.artifact_routes import get_artifact
from api.jobs.control.routes import get_job, submit_job
from api.openai.routes import speak
from api.settings import ApiSettings
from api.system.objects import get_object
from storage.tenants.api_keys import KEY_PREFIX
from tests.api.harness import SMALL, ServedApi, serve

UNLIKE = {"date", "x-request-id"}

TAKEN: dict[str, tuple[Callable[..., object], list[str]]] = {
    "POST /v1/jobs": (submit_job, ["asked", "body", "idempotency_header", "prefer"]),
    "GET /v1/jobs/{job_id}": (get_job, ["asked", "job_id", "prefer", "if_none_match"]),
    "GET /v1/jobs/{job_id}/artifacts/{name}": (get_artifact, ["asked", "job_id", "name"]),
    "POST /v1/audio/speech": (
        speak,
        ["request", "tenant", "services", "links", "body", "prefer", "idempotency_header"],
    ),
    "GET /v1/objects/{key:path}": (get_object, ["request", "services", "key"]),
}
"""What each route's function takes: one that takes more has to be given it in both places."""

ORDER = {"input": {"text": "Good morning."}}

REFUSED: dict[str, tuple[str, str, dict[str, Any]]] = {
    "no job": ("GET", "/v1/jobs/job_01k00000000000000000000000", {}),
    "no id": ("GET", "/v1/jobs/nothing", {}),
    "a word that is none": ("GET", "/v1/jobs/a%2Fb", {}),
    "a slash at the end": ("GET", "/v1/jobs/", {}),
    "a line break behind it": ("POST", "/v1/jobs%0A", {"json": ORDER}),
    "a line break in an object's name": ("GET", "/v1/objects/a%0Ab", {}),
    "a line break behind an id": ("GET", "/v1/jobs/job_01k00000000000000000000000%0A", {}),
    "nothing to wait for": ("GET", "/v1/jobs/job_01k00000000000000000000000", {"headers": {"Prefer": "wait=soon"}}),
    "no artifact's job": ("GET", "/v1/jobs/job_01k00000000000000000000000/artifacts/narration.wav", {}),
    "no artifact's name": ("GET", "/v1/jobs/job_01k00000000000000000000000/artifacts/", {}),
    "no link": ("GET", "/v1/objects/jobs/local/x", {}),
    "an object without a name": ("GET", "/v1/objects/", {}),
    "a wrong signature": ("GET", "/v1/objects/a?expires=1&filename=a&type=a&signature=a", {}),
    "another method": ("PATCH", "/v1/jobs", {}),
    "no JSON": ("POST", "/v1/jobs", {"content": b"{", "headers": {"Content-Type": "application/json"}}),
    "another type": ("POST", "/v1/jobs", {"content": b"{}", "headers": {"Content-Type": "text/plain"}}),
    "no text": ("POST", "/v1/jobs", {"json": {}}),
    "no key": ("POST", "/v1/jobs", {"json": ORDER, "headers": {"Authorization": "Bearer " + KEY_PREFIX + "nobody"}}),
    "no idempotency key": ("POST", "/v1/jobs", {"json": ORDER, "headers": {"Idempotency-Key": "\x7f"}}),
    "nothing to say": ("POST", "/v1/audio/speech", {"json": {"input": ""}}),
    "a voice that is none": ("POST", "/v1/audio/speech", {"json": {"input": "Hello.", "voice": "nobody"}}),
    "nobody's speech": (
        "POST",
        "/v1/audio/speech",
        {"json": {"input": "Hello."}, "headers": {"Authorization": "Bearer " + KEY_PREFIX + "nobody"}},
    ),
    "a stream that is kept": (
        "POST",
        "/v1/audio/speech",
        {"json": {"input": "Hello.", "stream": True}, "headers": {"Idempotency-Key": "once"}},
    ),
    "no JSON of speech": (
        "POST",
        "/v1/audio/speech",
        {"content": b"{", "headers": {"Content-Type": "application/json"}},
    ),
    "a line break behind speech": ("POST", "/v1/audio/speech%0A", {"json": {"input": "Hello."}}),
    "too long a key": ("POST", "/v1/jobs", {"json": ORDER, "headers": {"Idempotency-Key": "k" * 300}}),
}


@pytest.fixture
def both(api_settings: ApiSettings, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[ServedApi, ServedApi]]:
    """Over the same stores; the second leaves everything to the framework."""
    with serve(api_settings) as quick, monkeypatch.context() as patched:
        patched.setattr(frequent_requests, "FREQUENT", ())
        with serve(api_settings) as plain:
            quick.models.publish(SMALL)
            yield quick, plain


def told(answer: httpx.Response, served: ServedApi) -> tuple[object, ...]:
    headers = {name: value.replace(served.url, "") for name, value in answer.headers.items() if name not in UNLIKE}
    body = answer.text.replace(served.url, "").replace(answer.headers.get("x-request-id", "-"), "")
    return answer.status_code, headers | {"content-length": ""}, body


def test_refusals_are_the_frameworks(both: tuple[ServedApi, ServedApi]) -> None:
    for name, (method, path, options) in REFUSED.items():
        quick, plain = (told(each.http.request(method, path, **options), each) for each in both)

        assert quick == plain, name
        assert isinstance(quick[0], int)
        assert quick[0] >= 400, name


def test_a_job_is_read_as_by_the_framework(both: tuple[ServedApi, ServedApi]) -> None:
    quick, plain = both
    job = quick.submit()["id"]

    assert told(quick.http.get(f"/v1/jobs/{job}"), quick)[0] == 200
    assert told(quick.http.get(f"/v1/jobs/{job}"), quick) == told(plain.http.get(f"/v1/jobs/{job}"), plain)
    unchanged = {"If-None-Match": quick.http.get(f"/v1/jobs/{job}").headers["etag"]}
    assert quick.http.get(f"/v1/jobs/{job}", headers=unchanged).status_code == 304
    assert plain.http.get(f"/v1/jobs/{job}", headers=unchanged).status_code == 304
    assert quick.http.head(f"/v1/jobs/{job}").status_code == 200


def test_a_repeat_under_its_key_is_the_same_job_whoever_answers(both: tuple[ServedApi, ServedApi]) -> None:
    quick, plain = both
    first, second = (
        each.http.post("/v1/jobs", json=ORDER, headers={"Idempotency-Key": "once"}) for each in (quick, plain)
    )

    assert (first.status_code, second.status_code) == (202, 202)
    assert first.json()["id"] == second.json()["id"]
    assert second.headers["Idempotency-Replayed"] == "true"


def test_requests_are_counted_by_their_route(both: tuple[ServedApi, ServedApi]) -> None:
    quick, _ = both
    job = quick.submit()["id"]
    quick.http.get(f"/v1/jobs/{job}")

    told_of = quick.http.get("/metrics").text
    assert 'rhapsode_http_requests_total{method="GET",route="/v1/jobs/{job_id}",status="200"}' in told_of
    assert 'rhapsode_http_requests_total{method="POST",route="/v1/jobs",status="202"}' in told_of


def test_each_is_a_route_of_the_application_and_given_all_that_it_takes(api_settings: ApiSettings) -> None:
    known = [route for route in create_app(api_settings).state.addresses if isinstance(route, Route)]
    for each in FREQUENT:
        first = next(route for route in known if route.path == each.route and each.method in (route.methods or ()))
        function, taken = TAKEN[f"{each.method} {each.route}"]
        assert inspect.unwrap(first.endpoint) is function
        assert list(inspect.signature(function).parameters) == taken
