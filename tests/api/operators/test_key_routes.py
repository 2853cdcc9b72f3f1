"""Keys that operators make: what they open, for whom, and until when; and what is served without any."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from api.access.authentication import scope_of
from api.settings import ApiSettings
from storage.ids import TenantId
from storage.tenants.api_keys import KEY_PREFIX, Scope, key_digest
from tests.api.harness import ServedApi, job_id
from tests.api.openapi.routes import api_routes

OPERATOR = {"Authorization": "Bearer key-of-the-operator"}

OPEN_PATHS = (
    *("/livez", "/readyz", "/health", "/metrics", "/openapi.json", "/v1/objects/{key:path}"),
    *("/", "/live", "/page/{version}/{name:path}"),
    *("/docs", "/reference/{version}/{name:path}", "/errors", "/errors/{code}"),
)
"""Probes, the contract's description, links that carry their own permission, the page, which asks for a key, and
what describes the API to people."""


def make(api: ServedApi, tenant: str = "ben", **fields: object) -> dict[str, Any]:
    answer = api.http.post("/v1/admin/api-keys", json={"tenant": tenant, "name": "test", **fields}, headers=OPERATOR)
    assert answer.status_code == 201, answer.text
    return answer.json()


def bearer(made: dict[str, Any]) -> dict[str, str]:
    return {"Authorization": f"Bearer {made['secret']}"}


def submit(api: ServedApi, headers: dict[str, str]) -> httpx.Response:
    return api.http.post("/v1/jobs", json={"input": {"text": "Mine."}}, headers=headers)


def test_a_key_opens_its_own_tenant_and_no_other(guarded: ServedApi) -> None:
    ben, cleo = make(guarded, "ben"), make(guarded, "cleo")

    job = submit(guarded, bearer(ben)).json()

    assert guarded.http.get(job["links"]["self"], headers=bearer(ben)).status_code == 200
    assert guarded.http.get(job["links"]["self"], headers=bearer(cleo)).status_code == 404
    assert guarded.jobs.get(TenantId("ben"), job_id(job)).tenant == "ben"


def test_a_secret_is_told_once_and_kept_nowhere(guarded: ServedApi) -> None:
    made = make(guarded)

    listed = guarded.http.get("/v1/admin/api-keys", headers=OPERATOR).json()["data"]
    stored = [str(guarded.redis.dump(key)) + key for key in guarded.redis.scan_iter()]

    assert made["secret"].startswith(KEY_PREFIX)
    assert [(key["id"], key["prefix"], key["tenant"]) for key in listed] == [(made["id"], made["secret"][:10], "ben")]
    assert "secret" not in listed[0]
    assert not any(made["secret"] in text for text in stored)


def test_a_revoked_key_opens_nothing_at_once(guarded: ServedApi) -> None:
    made = make(guarded)
    assert submit(guarded, bearer(made)).status_code == 202
    address = f"/v1/admin/api-keys/{made['id']}"

    assert guarded.http.delete(address, headers=OPERATOR).status_code == 204
    assert submit(guarded, bearer(made)).status_code == 401
    assert guarded.http.delete(address, headers=OPERATOR).status_code == 404
    assert guarded.http.get("/v1/admin/api-keys", headers=OPERATOR).json()["data"] == []


def test_a_key_is_over_when_its_time_is(guarded: ServedApi) -> None:
    later = datetime.now(UTC) + timedelta(hours=1)
    made = make(guarded, expires_at=later.isoformat())
    assert submit(guarded, bearer(made)).status_code == 202

    # The end comes nearer, since nobody knows how long a request takes here.
    record = f"{{rhapsode}}:apikey:{key_digest(made['secret'])}"
    expires_at_ms = guarded.redis.hget(record, "expires_at_ms")
    assert expires_at_ms is not None
    assert int(expires_at_ms) == pytest.approx(later.timestamp() * 1000, abs=1)
    seconds, _ = guarded.redis.time()
    guarded.redis.hset(record, "expires_at_ms", seconds * 1000)

    assert submit(guarded, bearer(made)).status_code == 401


def test_the_last_use_is_known(guarded: ServedApi) -> None:
    made = make(guarded)
    before = datetime.now(UTC)
    submit(guarded, bearer(made))

    (listed,) = guarded.http.get("/v1/admin/api-keys", headers=OPERATOR, params={"tenant": "ben"}).json()["data"]

    assert made["last_used_at"] is None
    assert datetime.fromisoformat(listed["last_used_at"]) >= before.replace(microsecond=0)
    assert guarded.http.get("/v1/admin/api-keys", headers=OPERATOR, params={"tenant": "ann"}).json()["data"] == []


@pytest.mark.parametrize(
    ("scopes", "opened"),
    [(["synth"], "/v1/jobs"), (["voices"], "/v1/voices"), (["admin"], "/v1/admin/api-keys")],
)
def test_a_key_opens_what_its_scopes_say(guarded: ServedApi, scopes: list[str], opened: str) -> None:
    headers = bearer(make(guarded, scopes=scopes))

    statuses = {
        path: guarded.http.get(path, headers=headers).status_code
        for path in ("/v1/jobs", "/v1/voices", "/v1/voice-caches", "/v1/admin/api-keys")
    }

    family = {opened} | ({"/v1/voice-caches"} if opened == "/v1/voices" else set())
    assert statuses == {path: 200 if path in family else 403 for path in statuses}
    assert guarded.http.get("/v1/models", headers=headers).status_code == 200
    refusal = guarded.http.get("/v1/jobs" if opened != "/v1/jobs" else "/v1/voices", headers=headers).json()
    assert refusal["code"] == "forbidden"
    assert scopes[0] in refusal["detail"]


def test_a_tenants_key_of_the_settings_makes_no_keys(guarded: ServedApi) -> None:
    answer = guarded.http.get("/v1/admin/api-keys", headers={"Authorization": "Bearer key-of-ann"})

    assert answer.status_code == 403


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"name": "x"}, "/tenant"),
        ({"tenant": "Ann", "name": "x"}, "/tenant"),
        ({"tenant": "../ann", "name": "x"}, "/tenant"),
        ({"tenant": "ann"}, "/name"),
        ({"tenant": "ann", "name": "x", "scopes": []}, "/scopes"),
        ({"tenant": "ann", "name": "x", "scopes": ["all"]}, "/scopes/0"),
        ({"tenant": "ann", "name": "x", "expires_at": "2001-01-01T00:00:00Z"}, "/expires_at"),
        ({"tenant": "ann", "name": "x", "expires_at": "9999-12-31T23:59:59Z"}, "/expires_at"),
    ],
)
def test_a_key_that_cannot_be_meant_is_refused(guarded: ServedApi, body: dict[str, Any], pointer: str) -> None:
    answer = guarded.http.post("/v1/admin/api-keys", json=body, headers=OPERATOR)

    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, pointer)
    assert list(guarded.redis.scan_iter(match="*apikey*")) == []


def test_without_keys_this_machine_alone_is_served(api: ServedApi) -> None:
    port = api.url.rpartition(":")[2]

    for host in (f"127.0.0.1:{port}", f"localhost:{port}", f"app.localhost:{port}", "[::1]"):
        assert api.http.get("/v1/jobs", headers={"Host": host}).status_code == 200
    for host in ("rebound.example", f"rhapsode.example:{port}", "10.0.0.1"):
        refused = api.http.get("/v1/jobs", headers={"Host": host})
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
        assert "RHAPSODE_API_KEYS" in refused.json()["detail"]


def test_without_keys_pages_of_other_origins_are_refused_even_what_no_browser_asks_before(api: ServedApi) -> None:
    form = {"name": (None, "Eve"), "consent": (None, "yes")}

    strangers = (
        "https://evil.example",
        "null",
        "http://[",
        f"{api.url}.evil.example",
        api.url.replace("//", "//evil@"),
    )
    for origin in strangers:
        refused = api.http.post("/v1/voices", files=form, headers={"Origin": origin})
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
        assert "RHAPSODE_CORS_ORIGINS" in refused.json()["detail"]
    own = api.http.post("/v1/voices", files=form, headers={"Origin": api.url})
    assert own.status_code == 422  # the form itself is looked at


def test_where_no_keys_are_set_one_of_ours_that_nobody_knows_is_wrong(api: ServedApi) -> None:
    """OpenAI's package sends whatever it was given, and has to be given something; ours are meant."""
    unknown = {"Authorization": f"Bearer rh_{'0' * 43}"}
    assert api.http.get("/v1/jobs", headers=unknown).status_code == 401
    assert api.http.get("/v1/jobs", headers={"Authorization": "Bearer none"}).status_code == 200


def test_every_route_says_what_a_key_needs_for_it(api_settings: ApiSettings) -> None:
    guarded = [route.path for route in api_routes(api_settings) if route.path not in OPEN_PATHS]

    assert all(isinstance(scope_of(path), Scope | None) for path in guarded)
