"""Caches through the API: ordered for one voice or for many, read, dropped."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from storage.jobs.record import JobError
from storage.jobs.work_items import PlanResult
from storage.jobs.work_queues import CPU_QUEUE, speech_queue
from storage.voices.store import VoiceStore
from tests.api.harness import ServedApi, claim
from tests.api.voices.voices import (
    BASE,
    CONSENT,
    EMBEDDING,
    build_all,
    recording,
    references,
    request_of,
    upload,
    upload_embedding,
)

pytestmark = pytest.mark.usefixtures("cloning")


def address(voice: dict[str, Any]) -> str:
    return f"{voice['links']['self']}/cache"


def states(api: ServedApi, voice: dict[str, Any]) -> list[tuple[str, str, str]]:
    caches = api.http.get(address(voice)).json()["data"]
    return [(cache["model"], cache["mode"], cache["state"]) for cache in caches]


def many(api: ServedApi, count: int) -> list[dict[str, Any]]:
    return [upload_embedding(api, f"voice {n}", EMBEDDING + np.float32(n / 100)) for n in range(count)]


def fail_first(api: ServedApi) -> str:
    """Plan the only waiting job as a worker does, and fail its first voice; which one that was."""
    store = VoiceStore(api.redis)
    plan = claim(api, CPU_QUEUE)
    voices = references(api, plan)
    store.request_caches(plan.lease.tenant, plan.lease.job, [request_of(voice) for voice in voices])
    api.jobs.commit_plan(plan.lease, PlanResult(plan.input_key, len(voices), 1_000))
    item = claim(api, speech_queue("base"))
    voice = voices[int(item.lease.item)]
    content = voice.content(plan.lease.tenant, BASE.revision)
    store.claim_build(content, item.lease)
    store.fail_build(content, item.lease, JobError("silent", "no speech in it"))
    api.jobs.fail(item.lease, JobError("silent", "no speech in it"))
    return voice.voice


def test_an_ordered_cache_is_pending_until_a_worker_has_built_it(api: ServedApi) -> None:
    voice = upload(api)
    assert states(api, voice) == []

    answer = api.http.post(address(voice))

    assert answer.status_code == 202, answer.text
    assert answer.headers["retry-after"] == "1"
    assert states(api, voice) == [("base", "in_context", "pending")]
    (cache,) = answer.json()["data"]
    assert api.http.get(f"/v1/jobs/{cache['job']}").json()["request"]["voices"] == 1
    assert build_all(api) == 1
    (cache,) = api.http.get(address(voice)).json()["data"]
    assert (cache["state"], cache["model_revision"], cache["build_s"]) == ("ready", BASE.revision, 0.005)
    again = api.http.post(address(voice))
    assert (again.status_code, again.json()["data"]) == (200, [cache])


def test_the_mode_may_be_chosen(api: ServedApi) -> None:
    voice = upload(api)

    assert api.http.post(address(voice), json={"mode": "x_vector", "models": ["base"]}).status_code == 202
    assert states(api, voice) == [("base", "x_vector", "pending")]
    silent = upload(api, "Grace", ref_text="")
    answer = api.http.post(address(silent), json={"mode": "in_context"})
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/ref_text")
    assert api.http.post(address(silent)).json()["data"][0]["mode"] == "x_vector"
    embedded = upload_embedding(api)
    answer = api.http.post(address(embedded), json={"mode": "in_context"})
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/mode")


def test_a_model_that_does_not_clone_makes_no_cache(api: ServedApi) -> None:
    voice = upload_embedding(api)

    answer = api.http.post(address(voice), json={"models": ["small"]})
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/models")
    answer = api.http.post(address(voice), json={"models": ["huge"]})
    assert (answer.status_code, answer.json()["code"]) == (404, "model_not_available")


def test_a_forced_rebuild_serves_the_old_version_until_the_new_one_is_there(api: ServedApi) -> None:
    voice = upload_embedding(api)
    api.http.post(address(voice))
    build_all(api)

    (cache,) = api.http.post(address(voice), json={"force": True}).json()["data"]

    assert (cache["state"], cache["sha256"] is not None) == ("pending", True)
    assert api.http.get(voice["links"]["embedding"]).status_code == 200
    assert build_all(api) == 1
    assert states(api, voice) == [("base", "x_vector", "ready")]


def test_a_cancelled_order_leaves_a_failed_cache_that_can_be_ordered_again(api: ServedApi) -> None:
    voice = upload_embedding(api)
    (cache,) = api.http.post(address(voice)).json()["data"]

    assert api.http.post(f"/v1/jobs/{cache['job']}/cancel").status_code == 200

    (cache,) = api.http.get(address(voice)).json()["data"]
    assert (cache["state"], cache["error"]["code"]) == ("failed", "not_built")
    assert api.http.post(address(voice)).status_code == 202
    assert build_all(api) == 1


def test_a_cache_of_another_revision_is_stale_and_is_made_anew(api: ServedApi) -> None:
    voice = upload_embedding(api)
    api.http.post(address(voice))
    build_all(api)

    upgraded = dataclasses.replace(BASE, revision="b2")
    api.models.publish(upgraded)

    assert states(api, voice) == [("base", "x_vector", "stale")]
    assert api.http.post(address(voice)).status_code == 202
    build_all(api, upgraded)
    assert states(api, voice) == [("base", "x_vector", "ready")]


def test_dropped_caches_are_gone(api: ServedApi) -> None:
    voice = upload(api)
    for mode in ("x_vector", "in_context"):
        api.http.post(address(voice), json={"mode": mode})

    assert api.http.delete(address(voice), params={"mode": "x_vector"}).status_code == 204
    assert [mode for _, mode, _ in states(api, voice)] == ["in_context"]
    assert api.http.delete(address(voice)).status_code == 204
    assert states(api, voice) == []


def test_the_embedding_of_a_recording_is_that_of_its_cache(api: ServedApi) -> None:
    voice = upload(api)
    api.http.post(address(voice), json={"mode": "x_vector"})
    build_all(api)

    answer = api.http.get(voice["links"]["embedding"], headers={"Accept": "application/json"})

    assert (answer.json()["values"], answer.json()["model_revision"]) == (EMBEDDING.tolist(), BASE.revision)


def test_a_voice_may_be_prepared_with_its_upload(api: ServedApi) -> None:
    form = {"name": "Ada", "consent": CONSENT, "precompute": "true"}

    answer = api.http.post("/v1/voices", data=form, files={"audio_sample": ("a", recording())})

    assert answer.status_code == 202, answer.text
    assert states(api, answer.json()) == [("base", "x_vector", "pending")]


def test_many_voices_are_prepared_by_one_job(api: ServedApi) -> None:
    voices = many(api, 5)

    answer = api.http.post("/v1/voice-caches", json={"voices": [voices[0]["id"], "VOICE 1", voices[2]["name"]]})

    assert answer.status_code == 202, answer.text
    job = answer.json()
    assert (job["kind"], job["request"]["voices"], job["request"]["model"]) == ("voice_cache", 3, "base")
    assert job["request"]["priority"] == "low"
    assert build_all(api) == 3
    done = api.http.get(job["links"]["self"]).json()
    assert (done["state"], done["progress"]["segments"]["done"]) == ("succeeded", 3)
    answer = api.http.post("/v1/voice-caches", json={"filter": {}})
    assert answer.json()["request"]["voices"] == 5
    build_all(api)
    listed = api.http.get("/v1/voice-caches", params={"state": "ready"}).json()
    assert sorted(cache["voice"] for cache in listed["data"]) == sorted(voice["id"] for voice in voices)


def test_the_voices_that_failed_are_ordered_again_by_their_state(api: ServedApi) -> None:
    voices = many(api, 3)
    job = api.http.post("/v1/voice-caches", json={"filter": {}}).json()
    bad = fail_first(api)
    build_all(api)
    done = api.http.get(job["links"]["self"]).json()
    assert (done["state"], done["error"]["code"]) == ("failed", "voice_cache_failed")
    assert (done["progress"]["segments"]["done"], done["progress"]["segments"]["failed"]) == (2, 1)
    assert done["warnings"] == [{"code": "silent", "detail": "no speech in it", "segment": 0}]

    failed = api.http.get("/v1/voice-caches", params={"state": "failed"}).json()["data"]
    assert [cache["voice"] for cache in failed] == [bad]
    again = api.http.post("/v1/voice-caches", json={"filter": {"state": "failed"}}).json()
    assert again["request"]["voices"] == 1
    assert build_all(api) == 1
    assert len(api.http.get("/v1/voice-caches", params={"state": "ready"}).json()["data"]) == len(voices)


def test_voices_that_are_tried_again_are_warned_of_no_more(api: ServedApi) -> None:
    many(api, 2)
    job = api.http.post("/v1/voice-caches", json={"filter": {}}).json()
    fail_first(api)
    build_all(api)

    assert api.http.post(f"{job['links']['self']}/retry").json()["warnings"] == []


def test_a_job_that_prepares_voices_has_no_segments_to_show(api: ServedApi) -> None:
    many(api, 2)
    job = api.http.post("/v1/voice-caches", json={"filter": {}}).json()
    build_all(api)

    for path in (job["links"]["segments"], f"{job['links']['segments']}/0"):
        answer = api.http.get(path)
        assert (answer.status_code, answer.json()["code"]) == (409, "state_conflict")
        assert "/v1/voice-caches" in answer.json()["detail"]


def test_an_order_says_where_and_when_to_look_again(api: ServedApi) -> None:
    voice = upload_embedding(api)
    order = {"name": "Prepared", "consent": CONSENT, "precompute": "true"}
    prepared = api.http.post("/v1/voices", data=order, files={"audio_sample": recording()})
    assert prepared.headers["Location"] == prepared.json()["links"]["self"]

    ordered = api.http.post(address(voice))
    by_name = api.http.post("/v1/audio/voices/Eve/cache")

    for answer in (ordered, by_name):
        assert (answer.status_code, answer.headers["Location"]) == (202, address(voice))
    assert {answer.headers["Retry-After"] for answer in (prepared, ordered, by_name)} == {"1"}


def test_jobs_are_listed_by_what_they_do(api: ServedApi) -> None:
    upload_embedding(api)
    spoken = api.submit(voice="Eve")["id"]
    prepared = api.http.post("/v1/voice-caches", json={"filter": {}}).json()["id"]

    def listed(kind: str) -> list[str]:
        return [job["id"] for job in api.http.get("/v1/jobs", params={"kind": kind}).json()["data"]]

    assert (listed("synthesis"), listed("voice_cache")) == ([spoken], [prepared])
    assert api.http.get("/v1/jobs", params={"kind": "batch"}).status_code == 422


def test_caches_are_listed_page_by_page(api: ServedApi) -> None:
    voices = many(api, 3)
    api.http.post("/v1/voice-caches", json={"filter": {}})
    build_all(api)

    first = api.http.get("/v1/voice-caches", params={"limit": 2}).json()
    second = api.http.get("/v1/voice-caches", params={"limit": 2, "cursor": first["next_cursor"]}).json()

    assert [cache["voice"] for cache in first["data"] + second["data"]] == sorted(voice["id"] for voice in voices)
    assert api.http.get("/v1/voice-caches", params={"state": "pending"}).json()["data"] == []
    assert api.http.get("/v1/voice-caches", params={"cursor": "x"}).status_code == 422


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, ""),
        ({"voices": ["Ada"], "filter": {}}, ""),
        ({"voices": []}, "/voices"),
        ({"voices": ["nobody"]}, "/voices/0"),
        ({"filter": {"state": "gone"}}, "/filter/state"),
        ({"filter": {}, "model": "small"}, "/model"),
        ({"filter": {}, "tempo": 1}, "/tempo"),
    ],
)
def test_a_bulk_order_that_cannot_be_carried_out_is_refused(api: ServedApi, body: dict[str, Any], pointer: str) -> None:
    upload_embedding(api)

    answer = api.http.post("/v1/voice-caches", json=body)

    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"][0]["pointer"] == pointer


def test_a_repeated_bulk_order_is_one_job(api: ServedApi) -> None:
    many(api, 2)
    headers = {"Idempotency-Key": "k"}

    first = api.http.post("/v1/voice-caches", json={"filter": {}}, headers=headers)
    second = api.http.post("/v1/voice-caches", json={"filter": {}}, headers=headers)

    assert second.json()["id"] == first.json()["id"]
    assert second.headers["idempotency-replayed"] == "true"
    assert api.http.post("/v1/voice-caches", json={"filter": {}, "force": True}, headers=headers).status_code == 422


def test_a_filter_that_means_no_voice_is_not_found(api: ServedApi) -> None:
    assert api.http.post("/v1/voice-caches", json={"filter": {}}).status_code == 404
