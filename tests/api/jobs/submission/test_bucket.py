"""A bucket of the caller's is tried when it is named, and nobody sees its credentials again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from storage.ids import JobId, TenantId
from storage.jobs.batch_lines import decode_shard
from storage.narration.spec import NarrationSpec
from storage.objects.keys import JOBS, batch_shard
from storage.runtime.config.settings import StorageSettings
from storage.runtime.config.webhook_options import split_keys
from tests.api.harness import SMALL, ServedApi, finish_job, serve
from tests.api.jobs.submission.test_input import uploaded
from tests.settings import api_settings_of
from tests.worker.assembly.callers_server import Script, serving

SECRET, TOKEN, KEY_ID = "the-secret-of-the-caller", "the-token-of-the-caller", "AKIAOFTHECALLER"
SEALING_KEY = "a-sealing-key-for-tests"


@pytest.fixture
def api(storage_settings: StorageSettings) -> Iterator[ServedApi]:
    assert split_keys(SEALING_KEY)
    settings = api_settings_of(storage_settings, webhook_key=SEALING_KEY, bucket_allow_private="loopback")
    with serve(settings) as served:
        served.models.publish(SMALL)
        yield served


@pytest.fixture
def script() -> Iterator[Script]:
    with serving(Script()) as served:
        yield served


def bucket(script: Script, **changed: object) -> dict[str, Any]:
    keys = {"access_key_id": KEY_ID, "secret_access_key": SECRET, "session_token": TOKEN}
    return {"endpoint": script.url, "bucket": "theirs", "prefix": "books/42/", **keys, **changed}


def ordered(api: ServedApi, wanted: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    answer = api.http.post("/v1/jobs", json={"input": {"text": "Good morning."}, "output": {"bucket": wanted}})
    return answer.status_code, answer.json()


def test_it_is_tried_and_nothing_that_is_kept_or_told_has_the_credentials(api: ServedApi, script: Script) -> None:
    status, job = ordered(api, bucket(script))
    shown = api.http.get(job["links"]["self"]).text + api.http.get("/v1/jobs").text
    finish_job(api)
    again = api.http.post(f"{job['links']['self']}/assemble", json={"output": {"formats": [{"type": "flac"}]}})
    moved = api.http.post(f"{job['links']['self']}/assemble", json={"output": {"bucket": bucket(script)}})

    assert status == 202
    assert json.loads(script.kept["/theirs/books/42/rhapsode.json"][0]) == {
        "job": job["id"],
        "state": "accepted",
        "files": [],
    }
    wanted = {"endpoint": script.url, "region": "us-east-1", "bucket": "theirs", "prefix": "books/42/"}
    assert job["request"]["output"]["bucket"] == wanted
    assert again.json()["request"]["output"]["bucket"] == wanted
    assert moved.status_code == 422
    kept = [*(api.redis.dump(key) or b"" for key in api.redis.scan_iter())]
    kept += [api.objects.get(entry.key) for entry in api.objects.list("")]
    told = [shown.encode(), again.content, moved.content, json.dumps(job).encode(), *kept]
    assert len(kept) > 3
    for secret in (SECRET, TOKEN, KEY_ID):
        assert not any(secret.encode() in each for each in told)


@pytest.mark.parametrize(
    ("refusal", "sentence"),
    [
        ((403, "<Error><Code>AccessDenied</Code></Error>"), "answered 403 AccessDenied"),
        ((404, "<Error><Code>NoSuchBucket</Code></Error>"), "answered 404 NoSuchBucket"),
        ((500, "<html>"), "answered 500"),
        ((301, ""), "redirect"),
    ],
)
def test_one_that_takes_no_file_is_refused_with_its_own_word(
    api: ServedApi, script: Script, refusal: tuple[int, str], sentence: str
) -> None:
    script.refusals = [refusal]
    status, problem = ordered(api, bucket(script))

    assert (status, problem["code"], problem["errors"][0]["pointer"]) == (422, "bucket_unusable", "/output/bucket")
    assert sentence in problem["detail"]
    assert SECRET not in json.dumps(problem)
    assert list(api.objects.list(JOBS)) == []


def test_what_cannot_be_meant_is_refused_before_anything_is_sent(api: ServedApi, script: Script) -> None:
    wrong = {
        "/output/bucket/secret_access_key": bucket(script, secret_access_key=None),
        "/output/bucket/access_key_id": bucket(script, access_key_id="a b"),
        "/output/bucket/endpoint": bucket(script, endpoint=f"{script.url}/path?x=1"),
        "/output/bucket/bucket": bucket(script, bucket="Theirs/.."),
        "/output/bucket/prefix": bucket(script, prefix="../up/"),
        "/output/bucket": bucket(script, endpoint="http://127.0.0.1:1"),
    }
    for pointer, wanted in wrong.items():
        status, problem = ordered(api, wanted)
        assert (status, [each["pointer"] for each in problem["errors"]]) == (422, [pointer])
        assert SECRET not in json.dumps(problem)
    assert script.puts == []


def test_what_a_job_says_of_its_bucket_can_be_sent_back(api: ServedApi, script: Script) -> None:
    _, job = ordered(api, bucket(script))
    finish_job(api)
    told = api.http.get(job["links"]["self"]).json()["request"]["output"]["bucket"]
    address = f"{job['links']['self']}/assemble"

    other = api.http.post(address, json={"output": {"bucket": {**told, "prefix": "books/43/"}}})
    taken_back = api.http.post(address, json={"output": {"bucket": None}})
    same = api.http.post(address, json={"output": {"bucket": told, "formats": [{"type": "flac"}]}})

    for refused in (other, taken_back):
        assert "stays with the bucket that it has" in refused.text
        assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "/output/bucket")
    assert same.status_code == 202, same.text
    assert same.json()["request"]["output"]["bucket"] == told


def batch_of(api: ServedApi, *buckets: dict[str, Any]) -> httpx.Response:
    lines = [
        json.dumps({"custom_id": str(number), "input": {"text": "Good."}, "output": {"bucket": each}})
        for number, each in enumerate(buckets)
    ]
    return api.http.post("/v1/batches", json={"upload_id": uploaded(api, "\n".join(lines).encode())})


def test_the_lines_of_a_batch_name_buckets_and_each_is_tried_once(api: ServedApi, script: Script) -> None:
    answer = batch_of(api, bucket(script, prefix="a/"), bucket(script, prefix="b/"), bucket(script, bucket="other"))

    assert answer.status_code == 202, answer.text
    assert [each for each in script.kept if each.endswith("rhapsode.json")] == [
        "/theirs/a/rhapsode.json", "/other/books/42/rhapsode.json",
    ]  # fmt: skip
    shard = api.objects.get(batch_shard(TenantId("local"), JobId(answer.json()["id"]), 0))
    first, second, _ = (each.submission for each in decode_shard(shard))
    assert not any(secret.encode() in shard for secret in (SECRET, TOKEN, KEY_ID))
    assert isinstance(first.spec, NarrationSpec)
    assert isinstance(second.spec, NarrationSpec)
    assert first.spec.bucket_secret != second.spec.bucket_secret != ""
    named = second.spec.request.output.bucket
    assert named is not None
    assert (named.prefix, named.secret_access_key) == ("b/", None)


def test_a_batch_whose_bucket_takes_nothing_is_refused(api: ServedApi, script: Script) -> None:
    script.refusals = [(403, "<Error><Code>AccessDenied</Code></Error>")]
    refused = batch_of(api, bucket(script))
    crowded = batch_of(api, *(bucket(script, bucket=f"bucket-{number}") for number in range(9)))

    assert (refused.status_code, refused.json()["code"]) == (422, "bucket_unusable")
    assert (crowded.status_code, "at most 8 buckets" in crowded.text) == (422, True)
    assert script.kept == {}
    assert list(api.objects.list(JOBS)) == []


def test_without_a_word_of_the_operators_no_address_of_ours_and_no_seal(
    storage_settings: StorageSettings, script: Script
) -> None:
    with serve(api_settings_of(storage_settings, webhook_key=SEALING_KEY)) as served:
        served.models.publish(SMALL)
        for endpoint in (
            script.url,
            "https://127.0.0.1",
            "https://169.254.169.254",
            "https://localhost",
            "https://[::1]",
        ):
            status, problem = ordered(served, bucket(script, endpoint=endpoint))
            assert (status, problem["code"]) == (422, "bucket_unusable")
    with serve(api_settings_of(storage_settings)) as served:
        served.models.publish(SMALL)
        assert ordered(served, bucket(script))[1]["code"] == "webhooks_unavailable"
    assert script.puts == []
