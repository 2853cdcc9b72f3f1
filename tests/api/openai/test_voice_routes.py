"""vLLM-Omni's shapes of voices, as its documentation shows them."""

from __future__ import annotations

import time

import pytest

from tests.api.harness import ServedApi
from tests.api.voices.voices import build_all, recording, upload_embedding

pytestmark = pytest.mark.usefixtures("cloning")


def test_a_voice_is_uploaded_listed_and_deleted_by_name(api: ServedApi) -> None:
    audio = recording()
    form = {"name": "custom_voice_1", "consent": "user_consent_id", "ref_text": "Hello.", "speaker_description": "warm"}

    answer = api.http.post("/v1/audio/voices", data=form, files={"audio_sample": ("x.wav", audio, "audio/wav")})

    assert answer.status_code == 200, answer.text
    voice = answer.json()["voice"]
    assert abs(voice.pop("created_at") - time.time()) < 60
    assert answer.json()["success"] is True
    assert voice == {**form, "mime_type": "audio/wav", "file_size": len(audio)}
    listed = api.http.get("/v1/audio/voices").json()
    own_id = api.http.get("/v1/voices", params={"name": "custom_voice_1"}).json()["data"][0]["id"]
    ids = {"Alice": "Alice", "Bob": "Bob", "custom_voice_1": own_id}
    assert listed["voices"] == listed["data"] == [{"id": each, "name": name} for name, each in ids.items()]
    plain = api.http.get("/v1/audio/voices", params={"legacy": "true"}).json()
    assert plain["voices"] == plain["data"] == [*ids]
    assert [each["name"] for each in listed["uploaded_voices"]] == ["custom_voice_1"]
    assert api.http.get("/v1/voices", params={"name": "custom_voice_1"}).json()["data"][0]["description"] == "warm"
    answer = api.http.delete("/v1/audio/voices/custom_voice_1")
    assert answer.json() == {"success": True, "message": "Voice 'custom_voice_1' deleted successfully"}
    assert api.http.get("/v1/audio/voices").json()["uploaded_voices"] == []


def test_models_are_listed_as_open_webui_reads_them(api: ServedApi) -> None:
    listed = api.http.get("/v1/audio/models").json()

    assert listed["models"] == listed["data"] == [{"id": name, "name": name} for name in ("base", "small")]


def test_what_was_not_given_is_left_out(api: ServedApi) -> None:
    upload_embedding(api, "Eve")

    (voice,) = api.http.get("/v1/audio/voices").json()["uploaded_voices"]

    assert sorted(voice) == ["consent", "created_at", "file_size", "mime_type", "name"]


def test_a_cache_is_ordered_by_name(api: ServedApi) -> None:
    upload_embedding(api, "Eve")

    def cache() -> str | None:
        return api.http.get("/v1/audio/voices/eve").json().get("cache")

    assert cache() is None
    answer = api.http.post("/v1/audio/voices/eve/cache")
    assert cache() == "pending"
    assert (answer.status_code, answer.json()) == (202, {"success": True, "voice": "Eve", "status": "pending"})
    build_all(api)
    assert cache() == "ready"

    answer = api.http.post("/v1/audio/voices/Eve/cache")
    assert (answer.status_code, answer.json()["status"]) == (200, "ready")
    answer = api.http.post("/v1/audio/voices/Eve/cache", params={"force": "true"})
    assert (answer.status_code, answer.json()["status"]) == (202, "pending")


def test_errors_are_in_openai_s_shape(api: ServedApi) -> None:
    answer = api.http.delete("/v1/audio/voices/nobody")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "voice_not_found")
    assert answer.json()["error"]["type"] == "invalid_request_error"
    answer = api.http.post("/v1/audio/voices", data={"name": "x"}, files={"audio_sample": ("x", recording())})
    assert (answer.status_code, answer.json()["error"]["param"]) == (422, "consent")
    answer = api.http.get("/v1/audio/nothing")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


def test_one_voice_is_told_by_its_name(api: ServedApi) -> None:
    upload_embedding(api, "Eve")

    def told(name: str) -> dict[str, object]:
        return api.http.get(f"/v1/audio/voices/{name}").json()

    assert told("alice") == {"name": "Alice", "models": ["small"]}
    own = told("eve")
    assert (own["name"], own["models"]) == ("Eve", ["base"])
    assert isinstance(own["uploaded"], dict)
    assert own["uploaded"]["name"] == "Eve"
    answer = api.http.get("/v1/audio/voices/nobody")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "voice_not_found")
