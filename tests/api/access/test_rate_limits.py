"""How often a tenant may ask."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from pydantic import ValidationError

from api.settings import ApiSettings
from storage.tenants.api_keys import key_digest
from tests.api.harness import SMALL, ServedApi, serve
from tests.settings import api_settings_of

ANN, BEN = ({"Authorization": f"Bearer {name}"} for name in ("ann", "ben"))


@pytest.fixture
def limited(api_settings: ApiSettings) -> Iterator[ServedApi]:
    keys = {key_digest(name): name for name in ("ann", "ben")}
    with serve(api_settings_of(api_settings, api_keys=keys, rate_limit="5 per 30 second")) as api:
        api.models.publish(SMALL)
        yield api


def left(field: str) -> tuple[int, int]:
    found = re.fullmatch(r'"tenant";r=(\d+);t=(\d+)', field)
    assert found
    return int(found[1]), int(found[2])


def test_what_is_left_is_told_until_nothing_is(limited: ServedApi) -> None:
    answers = [limited.http.get("/v1/jobs", headers=ANN) for _ in range(7)]

    assert [answer.status_code for answer in answers] == [200] * 5 + [429] * 2
    assert {answer.headers["ratelimit-policy"] for answer in answers} == {'"tenant";q=5;w=30'}
    assert [left(answer.headers["ratelimit"])[0] for answer in answers] == [4, 3, 2, 1, 0, 0, 0]
    refused = answers[-1]
    assert (refused.json()["code"], refused.json()["retryable"]) == ("rate_limited", True)
    # Five in one window, which has to fade by a fifth after its end.
    assert 1 <= int(refused.headers["retry-after"]) <= 36
    assert left(refused.headers["ratelimit"])[1] == int(refused.headers["retry-after"])


def test_a_tenant_takes_nothing_from_another(limited: ServedApi) -> None:
    for _ in range(8):
        limited.http.get("/v1/jobs", headers=ANN)

    assert limited.http.get("/v1/jobs", headers=BEN).status_code == 200


def test_a_request_is_counted_once_whatever_looks_at_it(limited: ServedApi) -> None:
    """An idempotent route asks who it is before the route does."""
    answer = limited.http.post("/v1/uploads", json={"bytes": 5}, headers=ANN | {"Idempotency-Key": "k"})

    assert left(answer.headers["ratelimit"])[0] == 4


def test_this_machines_own_user_is_not_counted(api: ServedApi) -> None:
    assert "ratelimit" not in api.http.get("/v1/jobs").headers


@pytest.mark.parametrize("limit", ["", "many", "5", "5 per fortnight"])
def test_a_limit_that_is_none_stops_the_start(api_settings: ApiSettings, limit: str) -> None:
    with pytest.raises(ValidationError):
        api_settings_of(api_settings, rate_limit=limit)
