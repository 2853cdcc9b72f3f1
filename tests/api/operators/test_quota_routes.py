"""Quotas over HTTP: what a refusal says, who may change what, and what counts."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from api.settings import ApiSettings
from rhapsode import Rhapsode
from storage.tenants.api_keys import key_digest
from tests.api.harness import SMALL, ServedApi, finish_job, serve
from tests.api.voices.voices import BASE, CONSENT, EMBEDDING, upload_embedding
from tests.settings import api_settings_of

OPERATOR = {"Authorization": "Bearer key-of-the-operator"}
ANN = {"Authorization": "Bearer key-of-ann"}
OF_ANN = "/v1/admin/tenants/ann/quotas"


@pytest.fixture
def guarded(api_settings: ApiSettings) -> Iterator[ServedApi]:
    keys = {key_digest("key-of-the-operator"): "operator", key_digest("key-of-ann"): "ann"}
    with serve(api_settings_of(api_settings, api_keys=keys, quota_jobs=2)) as api:
        api.models.publish(SMALL)
        yield api


def submit(api: ServedApi, headers: dict[str, str] = ANN) -> httpx.Response:
    return api.http.post("/v1/jobs", json={"input": {"text": "Mine."}}, headers=headers)


def test_a_refusal_says_what_is_held_and_when_to_come_back(guarded: ServedApi) -> None:
    assert [submit(guarded).status_code for _ in range(2)] == [202, 202]

    refused = submit(guarded)

    assert (refused.status_code, refused.json()["code"]) == (429, "quota_exceeded")
    assert refused.json()["detail"].startswith("tenant_jobs is reached: 2 of 2; try again in ")
    assert refused.json()["retryable"]
    assert 1 <= int(refused.headers["retry-after"]) <= 360
    assert submit(guarded, OPERATOR).status_code == 202


def test_limits_of_its_own_count_at_once_until_they_are_taken_away(guarded: ServedApi) -> None:
    given = guarded.http.put(OF_ANN, json={"jobs": 0}, headers=OPERATOR)
    refused = submit(guarded)

    assert given.status_code == 200
    assert given.json()["limits"] == {"jobs": 0, "audio_s": 1_800_000, "voices": 100_000}
    assert given.json()["own"] == {"jobs": 0, "audio_s": None, "voices": None}
    assert refused.json()["detail"].startswith("tenant_jobs is reached: 0 of 0")
    assert guarded.http.delete(OF_ANN, headers=OPERATOR).status_code == 204
    assert submit(guarded).status_code == 202
    assert guarded.http.get(OF_ANN, headers=OPERATOR).json()["own"]["jobs"] is None


def test_only_operators_change_limits_and_everybody_reads_its_own(guarded: ServedApi) -> None:
    submit(guarded)
    finish_job(guarded, audio=b"x" * 1_000)

    own = guarded.http.get("/v1/quotas", headers=ANN).json()

    assert own["tenant"] == "ann"
    assert own["held"] == {"jobs": 0, "audio_s": 0, "voices": 0}
    assert guarded.http.put(OF_ANN, json={"jobs": 9}, headers=ANN).status_code == 403
    assert guarded.http.get(OF_ANN, headers=ANN).status_code == 403
    for body in ({"jobs": -1}, {"jobs": 1.5}, {"job": 1}, {"jobs": 2**60}, {"stored_bytes": 1}):
        assert guarded.http.put(OF_ANN, json=body, headers=OPERATOR).status_code == 422


def test_a_voice_counts_until_it_is_deleted(guarded: ServedApi) -> None:
    guarded.models.publish(BASE)
    guarded.http.put(OF_ANN, json={"voices": 1}, headers=OPERATOR)
    guarded.http.headers.update(ANN)
    voice = upload_embedding(guarded)

    files = {"speaker_embedding": ("fay.f32", EMBEDDING.tobytes(), "application/octet-stream")}
    form = {"name": "Fay", "consent": CONSENT, "model": "base"}
    refused = guarded.http.post("/v1/voices", data=form, files=files)
    held = guarded.http.get("/v1/quotas").json()["held"]
    guarded.http.delete(f"/v1/voices/{voice['id']}")

    assert refused.json()["detail"] == "tenant_voices is reached: 1 of 1"
    assert held["voices"] == 1
    assert guarded.http.get("/v1/quotas").json()["held"] == {"jobs": 0, "audio_s": 0, "voices": 0}


def test_the_client_reads_and_sets_quotas(guarded: ServedApi) -> None:
    with Rhapsode(guarded.url, api_key="key-of-the-operator") as operator:
        assert operator.quotas.set("ann", jobs=7).limits.jobs == 7
        operator.quotas.reset("ann")

        assert operator.quotas.read("ann").limits.jobs == 2
    with Rhapsode(guarded.url, api_key="key-of-ann") as ann:
        assert ann.quotas.read().tenant == "ann"
