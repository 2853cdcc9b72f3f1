"""Where a job's finished files lie in the bucket, if its caller says so: told, kept, deleted with the job."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from rhapsode.contract.jobs.output import AudioFormat, Destination, OutputFormat
from storage.jobs.record import ArtifactRecord
from storage.jobs.work_queues import CPU_QUEUE
from storage.narration.spec import NarrationSpec
from storage.objects.keys import artifact
from tests.api.harness import GPU_QUEUE, ServedApi, claim, commit, start_job

AUDIO = b"RIFF" + bytes(range(256))
BOOKS = {"prefix": "books/42/"}


def finished(api: ServedApi) -> dict[str, Any]:
    """A job with one file at its destination."""
    job = api.submit(output={"destination": {"prefix": "books/42"}})
    commit(api, start_job(api, num_segments=1))
    item = claim(api, CPU_QUEUE)
    stored = api.objects.put(artifact(item.lease, "narration.wav", item.narration.request.output.destination), AUDIO)
    record = ArtifactRecord("narration.wav", "wav", stored.key, stored.bytes, stored.sha256, 2.0)
    api.jobs.finish(item.lease, [record])
    return api.http.get(job["links"]["self"]).json()


def delivered(api: ServedApi) -> list[str]:
    return [entry.key for entry in api.objects.list("delivered/")]


@pytest.fixture(autouse=True)
def _nothing_delivered(api: ServedApi) -> None:
    api.objects.delete_prefix("delivered/")


def test_a_file_is_where_its_caller_wants_it_and_downloads_as_ever(api: ServedApi) -> None:
    job = finished(api)

    [file] = job["artifacts"]
    link = api.http.get(f"{job['links']['artifacts']}/narration.wav").headers["location"]

    assert job["request"]["output"]["destination"] == BOOKS
    assert delivered(api) == [file["key"]]
    assert file["key"].startswith(f"delivered/local/books/42/{job['id']}/")
    assert httpx.get(file["url"]).content == httpx.get(link).content == AUDIO


def test_a_file_without_a_destination_names_no_key(api: ServedApi) -> None:
    job = api.submit()

    assert job["request"]["output"]["destination"] is None


def test_a_deleted_job_takes_its_files_along_and_no_others(api: ServedApi) -> None:
    job, other = finished(api), finished(api)

    deletions = [api.http.delete(job["links"]["self"]).status_code for _ in range(2)]

    assert deletions == [204, 204]
    assert delivered(api) == [file["key"] for file in other["artifacts"]]
    assert [entry.key for entry in api.objects.list("") if job["id"] in entry.key] == []


def test_a_job_stays_with_its_destination(api: ServedApi) -> None:
    job = finished(api)
    assemble = f"{job['links']['self']}/assemble"

    elsewhere = api.http.post(assemble, json={"output": {"destination": {"prefix": "books/43/"}}})
    unsaid = api.http.post(assemble, json={"output": {"formats": [{"type": "flac"}]}})

    assert (elsewhere.status_code, elsewhere.json()["errors"][0]["pointer"]) == (422, "/output/destination")
    assert unsaid.json()["request"]["output"]["destination"] == BOOKS
    spec = claim(api, CPU_QUEUE).spec
    assert isinstance(spec, NarrationSpec)
    assert (spec.request.output.destination, spec.request.output.formats) == (
        Destination(prefix="books/42/"),
        (OutputFormat(type=AudioFormat.FLAC),),
    )


def test_a_destination_is_not_given_to_a_job_that_has_none(api: ServedApi) -> None:
    job = api.submit()
    commit(api, start_job(api, num_segments=1))

    answer = api.http.post(f"{job['links']['self']}/assemble", json={"output": {"destination": BOOKS}})

    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (422, "not_supported")
    assert api.jobs.ready_counts()[GPU_QUEUE] == 0


@pytest.mark.parametrize(
    "prefix",
    [
        "",
        "/",
        "/books",
        "books//42",
        "../other",
        "books/../../other",
        "books/./42",
        ".hidden",
        "books/42\n",
        "books\0",
        "b\u202eooks",
        "Books",
        "büch",
        "a b",
        "a\\b",
        "a%2fb",
        "x" * 201,
        "job_01m7yj4egmh4qv6tk9s2v5c52g",
        "books/job_x/1",
        7,
        None,
    ],
)
def test_what_is_no_folder_is_refused(api: ServedApi, prefix: object) -> None:
    body = {"input": {"text": "Hello."}, "output": {"destination": {"prefix": prefix}}}

    answer = api.http.post("/v1/jobs", json=body)

    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == "/output/destination/prefix"
    assert delivered(api) == []
