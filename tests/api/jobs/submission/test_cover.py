"""A picture that a caller uploads for the files: looked at when it is named, kept with the job."""

from __future__ import annotations

import pytest

from storage.audio.cover import MAX_COVER_BYTES
from storage.ids import TenantId, UploadId
from storage.objects import keys
from tests.api.harness import ServedApi, finish_job, job_id
from tests.api.jobs.submission.test_input import uploaded
from tests.storage.audio.test_cover import JPEG, PNG, png

LOCAL = TenantId("local")


def test_the_job_has_a_copy_of_its_own(api: ServedApi) -> None:
    upload = uploaded(api, JPEG)
    job = api.submit("Good morning.", output={"cover": upload})
    api.http.delete(f"/v1/uploads/{upload}")

    assert job["request"]["output"]["cover"] == upload
    assert api.objects.get(keys.cover(LOCAL, job_id(job), UploadId(upload))) == JPEG


@pytest.mark.parametrize(
    ("data", "status", "code", "sentence"),
    [
        (b"GIF89a" + bytes(100), 422, "unsupported_media", "it is neither JPEG nor PNG"),
        (PNG[:33], 422, "unsupported_media", "it is a PNG without an end"),
        (png(10_001, 480), 422, "unsupported_media", "10001 x 480 pixels"),
        (JPEG[:4] + b"\xff" * 50, 422, "unsupported_media", "it is a JPEG without a frame"),
        (PNG + bytes(MAX_COVER_BYTES), 413, "too_large", "at most 8,388,608 bytes"),
    ],
)
def test_what_is_no_picture_is_refused_and_leaves_nothing(
    api: ServedApi, data: bytes, status: int, code: str, sentence: str
) -> None:
    body = {"input": {"text": "Good morning."}, "output": {"cover": uploaded(api, data)}}
    answer = api.http.post("/v1/jobs", json=body)

    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (status, code)
    assert sentence in answer.text
    assert list(api.objects.list(keys.JOBS)) == []


def test_what_did_not_arrive_and_a_batch_have_none(api: ServedApi) -> None:
    for name in ("upl_01m80784j05b6jp6sa8yyjk52f", "../../etc", "x" * 64):
        answer = api.http.post("/v1/jobs", json={"input": {"text": "Good."}, "output": {"cover": name}})
        assert [(each["pointer"], each["code"]) for each in answer.json()["errors"]] == [("/output/cover", "not_found")]

    line = b'{"custom_id": "a", "input": {"text": "Good."}, "output": {"cover": "upl_01m80784j05b6jp6sa8yyjk52f"}}'
    refused = api.http.post("/v1/batches", json={"upload_id": uploaded(api, line)})
    assert refused.status_code == 422
    assert "is not taken in a batch" in refused.text


def test_files_are_made_again_with_another_cover(api: ServedApi) -> None:
    job = api.submit()
    finish_job(api)
    upload = uploaded(api, PNG)

    for _ in range(2):
        answer = api.http.post(f"{job['links']['self']}/assemble", json={"output": {"cover": upload}})
        assert (answer.status_code, answer.json()["request"]["output"]["cover"]) == (202, upload)
    taken_back = api.http.post(f"{job['links']['self']}/assemble", json={"output": {"cover": None}})
    assert taken_back.json()["request"]["output"]["cover"] is None
    wrong = api.http.post(f"{job['links']['self']}/assemble", json={"output": {"cover": uploaded(api, b"GIF89a")}})
    assert wrong.json()["errors"][0]["pointer"] == "/output/cover"
