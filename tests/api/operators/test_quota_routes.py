"""Quotas over HTTP: what a refusal says, who may change what, and what counts."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from api.settings import ApiSettings
from rhapsode import Rhapsode
from storage.tenants.api_keys import key_digest
from tests.api.harness import SMALL, ServedApi, finish_job, serve
from tests.api.voices.voices import BASE, CONSENT, EMBEDDING, recording, upload_embedding
from tests.settings import api_settings_of

OPERATOR = {"Authorization": "Bearer key-of-the-operator"}
ANN = {"Authorization": "Bearer key-of-ann"}
OF_ANN = "/v1/admin/tenants/ann/quotas"


@pytest.fixture
def guarded(api_settings: ApiSettings) -> Iterator[ServedApi]:
    keys = {key_digest("key-of-the-operator"): "operator", key_digest("key-of-ann"): "ann"}
    with serve(api_settings_of(api_settings, api_keys=keys, quota_jobs=2, quota_stored_bytes=100_000)) as api:
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
    given = guarded.http.put(OF_ANN, json={"jobs": 3, "stored_bytes": 4}, headers=OPERATOR)
    refused = submit(guarded)

    assert given.status_code == 200
    assert given.json()["limits"] == {"jobs": 3, "audio_s": 1_800_000, "voices": 100_000, "stored_bytes": 4}
    assert given.json()["own"] == {"jobs": 3, "audio_s": None, "voices": None, "stored_bytes": 4}
    assert refused.json()["detail"] == "tenant_stored_bytes is reached: 0 of 4"
    assert (refused.json()["retryable"], "retry-after" in refused.headers) == (False, False)
    assert guarded.http.delete(OF_ANN, headers=OPERATOR).status_code == 204
    assert submit(guarded).status_code == 202
    assert guarded.http.get(OF_ANN, headers=OPERATOR).json()["own"]["jobs"] is None


def test_only_operators_change_limits_and_everybody_reads_its_own(guarded: ServedApi) -> None:
    submit(guarded)
    finish_job(guarded, audio=b"x" * 1_000)

    own = guarded.http.get("/v1/quotas", headers=ANN).json()

    assert own["tenant"] == "ann"
    assert own["held"] == {"jobs": 0, "audio_s": 0, "voices": 0, "stored_bytes": 1_005}
    assert guarded.http.put(OF_ANN, json={"jobs": 9}, headers=ANN).status_code == 403
    assert guarded.http.get(OF_ANN, headers=ANN).status_code == 403
    for body in ({"jobs": -1}, {"jobs": 1.5}, {"job": 1}, {"jobs": 2**60}):
        assert guarded.http.put(OF_ANN, json=body, headers=OPERATOR).status_code == 422


def test_a_voice_counts_and_its_bytes_until_it_is_deleted(guarded: ServedApi) -> None:
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
    assert (held["voices"], held["stored_bytes"]) == (1, EMBEDDING.nbytes)
    assert guarded.http.get("/v1/quotas").json()["held"] == {"jobs": 0, "audio_s": 0, "voices": 0, "stored_bytes": 0}


def held_bytes(api: ServedApi) -> int:
    return api.http.get("/v1/quotas", headers=ANN).json()["held"]["stored_bytes"]


def drift(api: ServedApi) -> list[object]:
    return api.http.post("/v1/admin/audit", headers=OPERATOR).json()["drift"]


def test_an_upload_counts_from_its_link_on_until_it_is_deleted(guarded: ServedApi) -> None:
    guarded.http.put(OF_ANN, json={"stored_bytes": 100}, headers=OPERATOR)
    place = guarded.http.post("/v1/uploads", json={"bytes": 60}, headers=ANN).json()

    refused = guarded.http.post("/v1/uploads", json={"bytes": 41}, headers=ANN)
    guarded.http.put(place["url"], content=b"x" * 60, headers=place["headers"])

    assert refused.status_code == 429
    assert refused.json()["detail"] == "tenant_stored_bytes is reached: 60 of 100"
    assert held_bytes(guarded) == 60
    assert guarded.http.delete(f"/v1/uploads/{place['id']}", headers=ANN).status_code == 204
    assert held_bytes(guarded) == 0
    assert drift(guarded) == []


def test_every_version_of_a_dictionary_counts_until_it_is_deleted(guarded: ServedApi) -> None:
    guarded.http.headers.update(ANN)
    rules = {"rules": [{"grapheme": "Rhapsode", "alias": "rap sode"}]}
    made = guarded.http.post("/v1/pronunciation-dictionaries", json={"name": "Names"} | rules).json()
    versions = f"/v1/pronunciation-dictionaries/{made['id']}/versions"
    one = made["versions"][0]["bytes"]
    guarded.http.put(OF_ANN, json={"stored_bytes": 2 * one}, headers=OPERATOR)
    statuses = [guarded.http.post(versions, json=rules).status_code for _ in range(2)]
    stored = [entry.bytes for entry in guarded.objects.list("pronunciations/")]

    assert statuses == [201, 429]
    assert (held_bytes(guarded), stored) == (2 * one, [one, one])
    guarded.http.delete(f"/v1/pronunciation-dictionaries/{made['id']}")
    assert held_bytes(guarded) == 0
    assert drift(guarded) == []


def test_a_longer_recording_must_fit_as_well(guarded: ServedApi) -> None:
    guarded.models.publish(BASE)
    guarded.http.headers.update(ANN)
    voice = upload_embedding(guarded)
    guarded.http.put(OF_ANN, json={"stored_bytes": 1_000}, headers=OPERATOR)

    files = {"audio_sample": ("ann.wav", recording(), "audio/wav")}
    refused = guarded.http.put(f"/v1/voices/{voice['id']}/sample", data={"consent": CONSENT}, files=files)

    assert (refused.status_code, refused.json()["code"]) == (429, "quota_exceeded")
    assert held_bytes(guarded) == EMBEDDING.nbytes
    assert len(list(guarded.objects.list("voices/"))) == 1


def test_the_client_reads_and_sets_quotas(guarded: ServedApi) -> None:
    with Rhapsode(guarded.url, api_key="key-of-the-operator") as operator:
        assert operator.quotas.set("ann", jobs=7).limits.jobs == 7
        operator.quotas.reset("ann")

        assert operator.quotas.read("ann").limits.jobs == 2
    with Rhapsode(guarded.url, api_key="key-of-ann") as ann:
        assert ann.quotas.read().tenant == "ann"
