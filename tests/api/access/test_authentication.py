"""Keys and tenants: who may ask, and whose jobs are seen."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import httpx
import pytest
from pydantic import ValidationError

from api.settings import ApiSettings
from storage.runtime.config.settings import StorageSettings
from tests.api.harness import SMALL, ServedApi, serve
from tests.settings import api_settings_of

ANN = {"Authorization": "Bearer key-of-ann"}
BEN = {"Authorization": "Bearer key-of-ben"}


def digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


@pytest.fixture
def guarded(api_settings: ApiSettings) -> Iterator[ServedApi]:
    keys = {digest("key-of-ann"): "ann", digest("key-of-ben"): "ben"}
    with serve(api_settings_of(api_settings, api_keys=keys)) as api:
        api.models.publish(SMALL)
        yield api


def post(api: ServedApi, headers: dict[str, str]) -> httpx.Response:
    return api.http.post("/v1/jobs", json={"input": {"text": "Mine."}}, headers=headers)


@pytest.mark.parametrize(
    "headers",
    [{}, {"Authorization": "Bearer"}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic key-of-ann"}],
)
def test_without_a_known_key_nothing_is_served(guarded: ServedApi, headers: dict[str, str]) -> None:
    answers = [
        post(guarded, headers),
        guarded.http.get("/v1/jobs", headers=headers),
        guarded.http.get("/v1/models", headers=headers),
        guarded.http.get("/v1/jobs/job_01arz3ndektsv4rrffq69g5fav/events", headers=headers),
    ]

    assert {answer.status_code for answer in answers} == {401}
    assert {answer.json()["code"] for answer in answers} == {"unauthorized"}
    assert {answer.headers["www-authenticate"] for answer in answers} == {"Bearer"}
    assert guarded.traces() == ([], [])


def test_where_no_key_is_asked_for_a_made_up_one_does_no_harm(api: ServedApi) -> None:
    def status(key: str, **headers: str) -> int:
        return api.http.get("/v1/jobs", headers={"Authorization": f"Bearer {key}".strip()} | headers).status_code

    assert [status("sk-none"), status("EMPTY"), status("")] == [200, 200, 200]
    assert [status("rh_of_somebody"), status("sk-none", Host="tts.example.org")] == [401, 403]


def test_without_keys_a_page_of_another_site_is_refused_also_where_it_names_no_origin(api: ServedApi) -> None:
    def status(site: str) -> int:
        return api.http.get("/v1/jobs", headers={"Sec-Fetch-Site": site}).status_code

    assert [status("cross-site"), status("same-origin"), status("none")] == [403, 200, 200]


def test_probes_need_no_key(guarded: ServedApi) -> None:
    assert guarded.http.get("/livez").status_code == 200
    assert guarded.http.get("/readyz").status_code == 200


def test_another_tenants_job_does_not_exist(guarded: ServedApi) -> None:
    job = post(guarded, ANN).json()

    for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/cancel"), ("GET", "/events"), ("GET", "/artifacts")):
        answer = guarded.http.request(method, f"{job['links']['self']}{path}", headers=BEN)
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert guarded.http.get("/v1/jobs", headers=BEN).json()["data"] == []
    assert guarded.http.get(job["links"]["self"], headers=ANN).json()["state"] == "pending"


def test_two_tenants_may_use_the_same_idempotency_key(guarded: ServedApi) -> None:
    key = {"Idempotency-Key": "k"}

    ids = {post(guarded, ANN | key).json()["id"], post(guarded, BEN | key).json()["id"]}

    assert len(ids) == 2


@pytest.mark.parametrize("keys", [{"key-of-ann": "ann"}, {"a" * 64: "../ann"}, {"a" * 64: ""}, {"a" * 64: "Ann"}])
def test_keys_that_are_no_digests_and_names_that_are_no_tenants_stop_the_start(
    storage_settings: StorageSettings, keys: dict[str, str]
) -> None:
    with pytest.raises(ValidationError):
        api_settings_of(storage_settings, api_keys=keys)
