"""Consents over HTTP: laid down once, cited by voices, and kept for as long as a voice rests on them."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from api.settings import ApiSettings
from rhapsode import Conflict, NotFound, Rhapsode
from storage.ids import TenantId
from storage.tenants.api_keys import ApiKeyStore, Scope, key_digest
from tests.api.harness import ServedApi, serve
from tests.api.voices.voices import BASE, EMBEDDING, recording
from tests.settings import api_settings_of

STATEMENT = "I am Ada, and I agree that my voice is cloned."


def lay_down(api: ServedApi, **fields: str) -> dict[str, Any]:
    answer = api.http.post("/v1/consents", json={"statement": STATEMENT, **fields})
    assert answer.status_code == 201, answer.text
    return answer.json()


def record(api: ServedApi, audio: bytes, **fields: str) -> httpx.Response:
    return api.http.post("/v1/consents", data=fields, files={"recording": ("consent.wav", audio, "audio/wav")})


def add_voice(api: ServedApi, consent: str, name: str = "Ada") -> httpx.Response:
    files = {"audio_sample": ("sample.wav", recording(), "audio/wav")}
    return api.http.post("/v1/voices", data={"name": name, "consent": consent}, files=files)


def test_a_statement_is_kept_with_its_hash_its_time_and_its_actor(api: ServedApi) -> None:
    laid_down = api.http.post("/v1/consents", json={"statement": f"  {STATEMENT} ", "speaker": "Ada Example"})
    consent = laid_down.json()

    assert laid_down.headers["location"] == consent["links"]["self"]
    assert (consent["speaker"], consent["statement"], consent["recording"]) == ("Ada Example", STATEMENT, None)
    assert consent["statement_sha256"] == hashlib.sha256(STATEMENT.encode()).hexdigest()
    assert (consent["actor"], consent["voices"]) == ("local", 0)
    assert api.http.get(consent["links"]["self"]).json() == consent
    assert api.http.get(f"/v1/consents/{consent['id']}/recording").status_code == 404


def test_a_recording_is_kept_as_it_came_and_counts(api: ServedApi) -> None:
    audio = recording(2.0)
    consent = record(api, audio, speaker="Ada").json()

    heard = api.http.get(consent["recording"]["url"], follow_redirects=True)

    assert (consent["statement"], consent["statement_sha256"]) == ("", None)
    assert consent["recording"]["sha256"] == hashlib.sha256(audio).hexdigest()
    assert (consent["recording"]["duration_s"], consent["recording"]["media_type"]) == (2.0, "audio/wav")
    assert heard.content == audio
    assert api.http.get("/v1/quotas").json()["held"]["stored_bytes"] == len(audio)
    assert api.http.delete(consent["links"]["self"]).status_code == 204
    assert api.http.get("/v1/quotas").json()["held"]["stored_bytes"] == 0
    assert list(api.objects.list("consents/")) == []


@pytest.mark.parametrize("statement", ["", " ", "no", "false"])
def test_nothing_said_is_no_consent(api: ServedApi, statement: str) -> None:
    refused = api.http.post("/v1/consents", data={"speaker": "Ada", "statement": statement}, files={"x": b""})
    as_json = api.http.post("/v1/consents", json={"statement": statement})

    assert [answer.status_code for answer in (refused, as_json)] == [422, 422]
    assert list(api.objects.list("consents/")) == []


def test_what_is_no_speech_is_refused_and_leaves_nothing(api: ServedApi) -> None:
    before = api.traces()
    refused = record(api, b"RIFF and no more", statement=STATEMENT)

    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "/recording")
    assert api.http.post("/v1/consents", content=b"x", headers={"Content-Type": "text/plain"}).status_code == 415
    assert api.traces() == before


def test_consents_are_listed_page_by_page_newest_first(api: ServedApi) -> None:
    ids = [lay_down(api)["id"] for _ in range(3)]

    first = api.http.get("/v1/consents", params={"limit": 2}).json()
    second = api.http.get("/v1/consents", params={"limit": 2, "cursor": first["next_cursor"]}).json()

    assert [each["id"] for page in (first, second) for each in page["data"]] == ids[::-1]
    assert (first["has_more"], second["has_more"], second["next_cursor"]) == (True, False, None)


def test_a_voice_rests_on_a_consent_which_cannot_go_before_it(cloning: ServedApi) -> None:
    consent = lay_down(cloning)
    voice = add_voice(cloning, consent["id"]).json()

    refused = cloning.http.delete(consent["links"]["self"])

    assert voice["consent"] == {
        "ids": [consent["id"]],
        "statement": STATEMENT,
        "actor": "local",
        "at": consent["created_at"],
    }
    assert (refused.status_code, refused.json()["code"]) == (409, "state_conflict")
    assert refused.json()["detail"] == f"1 voice rests on {consent['id']}; delete what rests on it first"
    assert cloning.http.get(consent["links"]["self"]).json()["voices"] == 1
    cloning.http.delete(voice["links"]["self"])
    assert cloning.http.delete(consent["links"]["self"]).status_code == 204
    assert cloning.http.get(consent["links"]["self"]).status_code == 404
    assert cloning.http.delete(consent["links"]["self"]).status_code == 404


def test_another_recording_rests_on_another_consent(cloning: ServedApi) -> None:
    old, new = lay_down(cloning), lay_down(cloning)
    voice = add_voice(cloning, old["id"]).json()

    files = {"audio_sample": ("sample.wav", recording(pitch_hz=110.0), "audio/wav")}
    replaced = cloning.http.put(voice["links"]["sample"], data={"consent": new["id"]}, files=files).json()

    assert replaced["consent"]["ids"] == [new["id"]]
    assert cloning.http.delete(old["links"]["self"]).status_code == 204
    assert cloning.http.delete(new["links"]["self"]).status_code == 409


def test_a_blend_rests_on_the_consents_of_its_parts(cloning: ServedApi) -> None:
    consents = [lay_down(cloning) for _ in range(2)]
    for name, consent in zip(("Ada", "Bea"), consents, strict=True):
        files = {"speaker_embedding": ("x.f32", EMBEDDING.tobytes(), "application/octet-stream")}
        form = {"name": name, "consent": consent["id"], "model": "base"}
        cloning.http.post("/v1/voices", data=form, files=files)

    order = {"name": "Both", "voices": [{"voice": "Ada"}, {"voice": "Bea", "weight": 2}], "method": "lerp"}
    blend = cloning.http.post("/v1/voices/blend", json=order).json()
    for name in ("Ada", "Bea"):
        cloning.http.delete(f"/v1/audio/voices/{name}")

    assert sorted(blend["consent"]["ids"]) == sorted(each["id"] for each in consents)
    assert [cloning.http.delete(each["links"]["self"]).status_code for each in consents] == [409, 409]


@pytest.mark.parametrize("consent", ["con_", "con_01m806afe42txtkpzs4742cf1y", "con_of mine"])
def test_a_consent_that_is_not_there_makes_no_voice(cloning: ServedApi, consent: str) -> None:
    before = cloning.traces()

    refused = add_voice(cloning, consent)

    assert (refused.status_code, refused.json()["errors"][0]["code"]) == (422, "not_found")
    assert refused.json()["errors"][0]["pointer"] == "/consent"
    assert cloning.traces() == before


def submit(api: ServedApi, consent: str, **fields: str) -> httpx.Response:
    return api.http.post("/v1/jobs", json={"input": {"text": "Hello."}, "consent": consent, **fields})


def test_a_manifest_and_a_job_name_consents_too(cloning: ServedApi) -> None:
    consent = lay_down(cloning)
    audio = "upl_01m806a9mwg7hp1zqfqmhz490r"
    ways = (("Ada", consent["id"]), ("Bea", "con_x"))
    manifest = "\n".join(json.dumps({"name": name, "audio": audio, "consent": way}) for name, way in ways).encode()
    place = cloning.http.post("/v1/uploads", json={"bytes": len(manifest)}).json()
    cloning.http.put(place["url"], content=manifest, headers=place["headers"])

    refused = cloning.http.post("/v1/voice-caches", json={"manifest": {"upload_id": place["id"]}, "model": "base"})

    embedding = {"model": "base", "speaker_embedding": base64.b64encode(EMBEDDING.tobytes()).decode()}
    job = submit(cloning, consent["id"], **embedding)

    assert [each["detail"] for each in refused.json()["errors"]] == ["line 2: consent: there is no consent 'con_x'"]
    assert job.status_code == 202, job.text
    assert submit(cloning, "con_x", **embedding).json()["errors"][0]["pointer"] == "/consent"


@pytest.fixture
def guarded(api_settings: ApiSettings) -> Iterator[ServedApi]:
    keys = {key_digest("key-of-ann"): "ann", key_digest("key-of-bob"): "bob"}
    with serve(api_settings_of(api_settings, api_keys=keys)) as api:
        yield api


def test_consents_are_their_tenants_and_name_the_key(guarded: ServedApi) -> None:
    guarded.models.publish(BASE)
    made = ApiKeyStore(guarded.redis).create(TenantId("ann"), "studio", frozenset({Scope.VOICES}))
    guarded.http.headers["Authorization"] = f"Bearer {made.secret}"
    consent = lay_down(guarded)
    bob = {"Authorization": "Bearer key-of-bob"}
    own = consent["links"]["self"]

    assert consent["actor"] == made.record.id
    assert [guarded.http.request(method, own, headers=bob).status_code for method in ("GET", "DELETE")] == [404, 404]
    assert guarded.http.get("/v1/consents", headers=bob).json()["data"] == []
    guarded.http.headers.update(bob)
    assert add_voice(guarded, consent["id"]).json()["errors"][0]["code"] == "not_found"


def test_the_client_lays_down_and_withdraws(cloning: ServedApi) -> None:
    with Rhapsode(cloning.url) as client:
        consent = client.consents.add(statement=STATEMENT, speaker="Ada")
        assert client.consents.get(consent.id) == consent
        assert list(client.consents.list()) == [consent]
        add_voice(cloning, consent.id)

        with pytest.raises(Conflict):
            client.consents.delete(consent)
        client.voices.delete("Ada")
        client.consents.delete(consent)
        with pytest.raises(NotFound):
            client.consents.get(consent.id)
