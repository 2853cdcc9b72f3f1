"""What answers of every kind tell browsers."""

from __future__ import annotations

import pytest

from api.http.middleware.security_headers import HEADERS
from tests.api.harness import ServedApi


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/v1/jobs"), ("GET", "/livez"), ("GET", "/nowhere"), ("POST", "/v1/jobs"), ("PUT", "/v1/jobs")],
)
def test_every_answer_tells_browsers_to_keep_their_hands_off(api: ServedApi, method: str, path: str) -> None:
    answer = api.http.request(method, path)

    assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS


def test_no_other_origin_may_read_an_answer(api: ServedApi) -> None:
    answer = api.http.get("/v1/jobs", headers={"Origin": "https://elsewhere.example"})
    preflight = api.http.options(
        "/v1/jobs", headers={"Origin": "https://elsewhere.example", "Access-Control-Request-Method": "POST"}
    )

    assert not [name for name in (*answer.headers, *preflight.headers) if name.startswith("access-control-")]
    assert preflight.status_code == 405
