"""Jobs that speak with voices that were uploaded."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
from typing import Any

import pytest

from reading.plan.plan import CLOSING_MARK_BYTES
from rhapsode.contract.voices.modes import CacheMode, IfCacheMissing
from storage.ids import TenantId
from storage.jobs.work_queues import CPU_QUEUE
from storage.narration.spec import NarrationSpec
from storage.narration.voice_reference import VoiceReference
from tests.api.harness import SMALL, ServedApi, claim, job_id
from tests.api.voices.voices import BASE, CONSENT, EMBEDDING, build_all, upload, upload_embedding

LOCAL = TenantId("local")


@pytest.fixture(autouse=True)
def speaking_only(cloning: ServedApi) -> None:
    """After the model that clones, one that does not and is therefore the default."""
    cloning.models.publish(SMALL)


def spec_of(api: ServedApi, job: dict[str, Any]) -> NarrationSpec:
    spec = api.jobs.get(LOCAL, job_id(job)).spec
    assert isinstance(spec, NarrationSpec)
    return spec


def own_voice(api: ServedApi, job: dict[str, Any]) -> VoiceReference:
    own = spec_of(api, job).own_voice
    assert own is not None
    return own


def refusal(api: ServedApi, **fields: object) -> tuple[int, str, str]:
    answer = api.http.post("/v1/jobs", json={"input": {"text": "Good morning."}, **fields})
    problem = answer.json()
    pointer = problem["errors"][0]["pointer"] if problem.get("errors") else ""
    return answer.status_code, problem["code"], pointer


def prepare(api: ServedApi, voice: dict[str, Any], **order: object) -> None:
    api.http.post(f"{voice['links']['self']}/cache", json=order)
    build_all(api)


def states(api: ServedApi, voice: dict[str, Any]) -> list[str]:
    return [cache["state"] for cache in api.http.get(f"{voice['links']['self']}/cache").json()["data"]]


def test_a_job_names_a_voice_by_id_or_by_name_and_finds_a_model_for_it(api: ServedApi) -> None:
    voice = upload(api, "Ada")

    for name in (voice["id"], "ada"):
        job = api.submit(voice=name)
        assert (job["request"]["model"], job["request"]["voice"]) == ("base", "Ada")
        assert job["request"]["own_voice"] == {
            "id": voice["id"],
            "revision": 1,
            "mode": "in_context",
            "ref_text": "Hello there.",
            "if_cache_missing": "compute",
        }
        own = own_voice(api, job)
        assert (own.source.sha256, own.mode) == (voice["sample"]["sha256"], CacheMode.IN_CONTEXT)


def test_a_model_s_own_speaker_goes_before_an_uploaded_voice(api: ServedApi) -> None:
    upload_embedding(api, "Carol")
    api.models.publish(dataclasses.replace(SMALL, speakers=("Alice", "Carol")))

    job = api.submit(voice="carol")

    assert (job["request"]["model"], job["request"]["voice"], job["request"]["own_voice"]) == ("small", "Carol", None)


def test_voices_that_are_not_there_are_not_found(api: ServedApi) -> None:
    voice = upload_embedding(api, "Ada")
    api.http.delete(voice["links"]["self"])

    assert refusal(api, voice="Ada") == (404, "voice_not_found", "/voice")
    assert refusal(api, voice=voice["id"])[:2] == (410, "gone")
    assert refusal(api, voice="voc_01m7y0000000000000000000zz")[:2] == (404, "voice_not_found")


def test_a_request_may_replace_what_the_recording_says_or_use_its_embedding_alone(api: ServedApi) -> None:
    upload(api, "Ada")

    replaced = own_voice(api, api.submit(voice="Ada", ref_text="Other words."))
    alone = own_voice(api, api.submit(voice="Ada", x_vector_only=True))

    assert (replaced.mode, replaced.ref_text) == (CacheMode.IN_CONTEXT, "Other words.")
    assert (alone.mode, alone.ref_text) == (CacheMode.X_VECTOR, "")
    assert len({replaced.content(LOCAL, "b1"), alone.content(LOCAL, "b1")}) == 2


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"voice": "Ada", "model": "small"}, "/voice"),
        ({"voice": "Ada", "instructions": "Slowly."}, "/instructions"),
        ({"voice": "Ada", "ref_text": "x", "x_vector_only": True}, "/ref_text"),
        ({"voice": "Ada", "ref_text": "x", "if_cache_missing": "wait"}, "/if_cache_missing"),
        ({"voice": "Ada", "if_cache_missing": "hope"}, "/if_cache_missing"),
        ({"voice": "Eve", "ref_text": "x"}, "/ref_text"),
        ({"voice": "Alice", "ref_text": "x"}, "/ref_text"),
        ({"x_vector_only": True}, "/x_vector_only"),
    ],
)
def test_what_a_voice_or_its_model_cannot_do_is_refused(api: ServedApi, fields: dict[str, Any], pointer: str) -> None:
    upload(api, "Ada")
    upload_embedding(api, "Eve")
    jobs = api.http.get("/v1/jobs").json()["data"]

    assert refusal(api, **fields) == (422, "invalid_request", pointer)
    assert api.http.get("/v1/jobs").json()["data"] == jobs


def test_a_model_of_another_embedding_size_is_refused(api: ServedApi) -> None:
    upload_embedding(api, "Eve")
    api.models.publish(dataclasses.replace(BASE, name="big", speaker_dim=16))

    assert refusal(api, voice="Eve", model="big") == (422, "invalid_request", "/voice")
    assert api.submit(voice="Eve")["request"]["model"] == "base"


def test_a_recording_without_its_words_is_spoken_with_by_its_embedding(api: ServedApi) -> None:
    upload(api, "Ada", ref_text="")

    assert own_voice(api, api.submit(voice="Ada")).mode is CacheMode.X_VECTOR


def test_a_job_that_computes_the_cache_says_that_it_will(api: ServedApi) -> None:
    voice = upload(api, "Ada")

    job = api.submit(voice="Ada")

    assert states(api, voice) == ["pending"]
    (cache,) = api.http.get(f"{voice['links']['self']}/cache").json()["data"]
    assert cache["job"] == job["id"]
    api.submit(voice="Ada", ref_text="Other words.")
    assert states(api, voice) == ["pending"]


def test_a_job_may_be_refused_until_the_voice_is_ready(api: ServedApi) -> None:
    voice = upload(api, "Ada")
    fields = {"voice": "Ada", "if_cache_missing": "fail"}

    assert refusal(api, **fields) == (409, "voice_cache_not_ready", "/voice")
    prepare(api, voice)
    api.http.post(f"{voice['links']['self']}/cache", json={"force": True})
    assert states(api, voice) == ["pending"]
    api.submit(**fields)
    api.models.publish(dataclasses.replace(BASE, revision="b2"))
    assert refusal(api, **fields) == (409, "voice_cache_stale", "/voice")


def test_a_job_that_waits_orders_the_cache_first(api: ServedApi) -> None:
    voice = upload(api, "Ada")

    job = api.submit(voice="Ada", if_cache_missing="wait")

    assert states(api, voice) == ["pending"]
    jobs = {each["kind"]: each["id"] for each in api.http.get("/v1/jobs").json()["data"]}
    assert jobs["synthesis"] == job["id"]
    assert own_voice(api, job).if_missing is IfCacheMissing.WAIT
    assert claim(api, CPU_QUEUE).lease.job == jobs["voice_cache"]


def test_jobs_that_wait_for_the_same_voice_share_one_order(api: ServedApi) -> None:
    upload(api, "Ada")
    api.submit(voice="Ada")

    for _ in range(3):
        api.submit(voice="Ada", if_cache_missing="wait")

    kinds = [job["kind"] for job in api.http.get("/v1/jobs").json()["data"]]
    assert sorted(kinds) == ["synthesis"] * 4 + ["voice_cache"]


def test_a_built_in_voice_of_another_model_is_found_where_no_model_is_named(api: ServedApi) -> None:
    api.models.publish(dataclasses.replace(SMALL, name="choir", speakers=("Carol",)))
    api.models.publish(SMALL)

    assert api.submit(voice="carol")["request"]["model"] == "choir"
    assert refusal(api, voice="carol", model="small")[:2] == (404, "voice_not_found")


@pytest.mark.parametrize("given", [base64.b64encode(EMBEDDING.tobytes()).decode(), EMBEDDING.tolist()])
def test_a_job_may_bring_its_voice_along(api: ServedApi, given: str | list[float]) -> None:
    job = api.submit(speaker_embedding=given, consent=CONSENT)

    own = own_voice(api, job)
    assert (job["request"]["model"], job["request"]["own_voice"]["id"]) == ("base", None)
    assert (own.mode, own.consent, own.source.model) == (CacheMode.X_VECTOR, CONSENT, "base")
    assert api.objects.get(own.source.key) == EMBEDDING.tobytes()
    assert own.source.sha256 == hashlib.sha256(EMBEDDING.tobytes()).hexdigest()
    assert api.http.get("/v1/voice-caches").json()["data"] == []
    api.http.post(f"/v1/jobs/{job['id']}/cancel")
    api.http.delete(f"/v1/jobs/{job['id']}")
    assert list(api.objects.list("jobs/")) == []


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"speaker_embedding": "AAAA"}, "/consent"),
        ({"speaker_embedding": "AAAA", "consent": "no"}, "/consent"),
        ({"speaker_embedding": "AAAA", "consent": CONSENT}, "/speaker_embedding"),
        ({"speaker_embedding": "%%%", "consent": CONSENT}, "/speaker_embedding"),
        ({"speaker_embedding": [1.0, 2.0], "consent": CONSENT}, "/speaker_embedding"),
        ({"speaker_embedding": [1.0] * 7 + ["2"], "consent": CONSENT}, "/speaker_embedding"),
        ({"speaker_embedding": [10**400] * 8, "consent": CONSENT}, "/speaker_embedding"),
        ({"speaker_embedding": [1.0] * 20_000, "consent": CONSENT}, "/speaker_embedding"),
        ({"speaker_embedding": {"values": []}, "consent": CONSENT}, "/speaker_embedding"),
        ({"speaker_embedding": "AAAA", "consent": CONSENT, "voice": "Alice"}, "/voice"),
        ({"speaker_embedding": "AAAA", "consent": CONSENT, "model": "small"}, "/model"),
        ({"consent": CONSENT}, "/consent"),
    ],
)
def test_an_embedding_that_cannot_speak_is_refused(api: ServedApi, fields: dict[str, Any], pointer: str) -> None:
    assert refusal(api, **fields) == (422, "invalid_request", pointer)
    assert api.traces() == ([], [])


def test_a_long_reference_leaves_less_room_for_the_text_of_a_segment(api: ServedApi) -> None:
    upload(api, "Ada", ref_text="word " * 100)

    spec = spec_of(api, api.submit(voice="Ada"))

    # 499 bytes and 1.5 s of 12.5 frames, four of which take the room of a token.
    assert spec.segmentation.max_bytes == BASE.max_text_tokens - 130 - CLOSING_MARK_BYTES
    upload(api, "Grace", ref_text="word " * 790)
    assert refusal(api, voice="Grace") == (422, "invalid_request", "/voice")
    by_sound = spec_of(api, api.submit(voice="Grace", x_vector_only=True))
    assert by_sound.segmentation.max_bytes == BASE.max_text_tokens - CLOSING_MARK_BYTES
