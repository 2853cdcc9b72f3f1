"""What a job made: listed, linked, and served by the local store's signed links."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx
import pytest

from api.settings import ApiSettings
from storage.objects.embedded_s3 import BUCKET, EmbeddedS3
from tests.api.harness import SMALL, ServedApi, finish_job, serve
from tests.settings import api_settings_of

AUDIO = b"RIFF" + bytes(range(256)) * 40


@pytest.fixture
def link(api: ServedApi) -> str:
    """A signed link to AUDIO."""
    job = api.submit()
    finish_job(api, AUDIO)
    return api.http.get(f"{job['links']['artifacts']}/narration.wav").headers["location"]


def test_an_artifact_leads_by_a_signed_link_to_its_bytes(api: ServedApi) -> None:
    job = api.submit()
    record = finish_job(api, AUDIO)

    answer = api.http.get(f"{job['links']['artifacts']}/narration.wav")
    download = httpx.get(answer.headers["location"])

    assert (answer.status_code, answer.headers["cache-control"]) == (302, "no-store")
    assert download.content == AUDIO
    assert download.headers["content-type"] == "audio/wav"
    assert download.headers["content-disposition"] == f'attachment; filename="{record.id}-narration.wav"'
    assert download.headers["x-content-type-options"] == "nosniff"


def test_the_list_tells_size_digest_and_link(api: ServedApi) -> None:
    job = api.submit()
    record = finish_job(api, AUDIO)

    [artifact] = api.http.get(job["links"]["artifacts"]).json()["data"]

    assert (artifact["bytes"], artifact["sha256"]) == (len(AUDIO), record.artifacts[0].sha256)
    assert artifact["duration_s"] == 2.0
    assert httpx.get(artifact["url"]).content == AUDIO
    assert api.http.get(job["links"]["self"]).json()["artifacts"] == [artifact]


def test_a_job_at_work_has_no_artifacts_yet(api: ServedApi) -> None:
    job = api.submit()

    missing = api.http.get(f"{job['links']['artifacts']}/narration.wav")

    assert api.http.get(job["links"]["artifacts"]).json() == {"data": []}
    assert missing.status_code == 404
    assert "pending" in missing.json()["detail"]


def test_a_name_that_is_none_is_not_found(api: ServedApi) -> None:
    job = api.submit()
    finish_job(api)

    answer = api.http.get(f"{job['links']['artifacts']}/..%2f..%2finput.txt")

    assert answer.status_code == 404


@pytest.mark.parametrize(
    ("wanted", "expected", "told"),
    [
        ("bytes=0-3", AUDIO[:4], "bytes 0-3/10244"),
        ("bytes=10000-", AUDIO[10_000:], "bytes 10000-10243/10244"),
        ("bytes=-4", AUDIO[-4:], "bytes 10240-10243/10244"),
        ("bytes=10243-99999", AUDIO[-1:], "bytes 10243-10243/10244"),
    ],
)
def test_a_range_is_served(link: str, wanted: str, expected: bytes, told: str) -> None:
    answer = httpx.get(link, headers={"Range": wanted})

    assert (answer.status_code, answer.content) == (206, expected)
    assert answer.headers["content-range"] == told


@pytest.mark.parametrize(
    ("wanted", "status"),
    [
        ("bytes=10244-", 416),
        ("bytes=0-1,10244-", 416),
        ("bytes=-0", 416),
        ("bytes=5-2", 400),
        ("bytes=a-b", 400),
        ("bytes=" + "9" * 5_000 + "-", 400),
        ("bytes=0-" + "9" * 5_000, 400),
    ],
)
def test_a_range_that_cannot_be_served_is_a_problem(link: str, wanted: str, status: int) -> None:
    answer = httpx.get(link, headers={"Range": wanted})

    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_range_in_a_unit_nobody_knows_is_ignored(link: str) -> None:
    answer = httpx.get(link, headers={"Range": "lines=1-2"})

    assert (answer.status_code, answer.content) == (200, AUDIO)


def test_head_tells_the_size(link: str) -> None:
    answer = httpx.head(link)

    assert (answer.status_code, answer.headers["content-length"], answer.content) == (200, str(len(AUDIO)), b"")
    assert answer.headers["accept-ranges"] == "bytes"


@pytest.mark.parametrize("name", ["expires", "filename", "type", "signature"])
def test_a_link_that_was_changed_opens_nothing(link: str, name: str) -> None:
    parts = urlsplit(link)
    query = dict(parse_qsl(parts.query))

    changed = parts._replace(query=urlencode(query | {name: query[name] + "1"})).geturl()
    without = parts._replace(query=urlencode({key: value for key, value in query.items() if key != name})).geturl()

    for forged in (changed, without):
        answer = httpx.get(forged)
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")


def test_a_link_opens_only_its_own_object(link: str) -> None:
    assert httpx.get(link.replace("narration.wav?", "other.wav?")).status_code == 403


def test_a_link_to_a_deleted_job_is_not_found(api: ServedApi, link: str) -> None:
    [job] = api.http.get("/v1/jobs").json()["data"]
    api.http.delete(job["links"]["self"])

    assert httpx.get(link).status_code == 404


def test_an_s3_store_serves_its_own_objects(
    api_settings: ApiSettings, weed: EmbeddedS3, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in weed.environment.items():
        monkeypatch.setenv(name, value)
    settings = api_settings_of(api_settings, store=f"s3://{BUCKET}/api-test", s3_endpoint_url=weed.endpoint_url)
    with serve(settings) as api:
        api.models.publish(SMALL)
        job = api.submit()
        finish_job(api, AUDIO)
        link = api.http.get(f"{job['links']['artifacts']}/narration.wav").headers["location"]
        download = httpx.get(link, headers={"Range": "bytes=0-3"})
        through_us = api.http.get("/v1/objects/jobs/x")
        api.http.delete(job["links"]["self"])
        objects = list(api.objects.list("jobs/"))

    assert link.startswith(weed.endpoint_url)
    assert (download.status_code, download.content) == (206, AUDIO[:4])
    assert download.headers["content-type"] == "audio/wav"
    assert "narration.wav" in download.headers["content-disposition"]
    assert through_us.status_code == 404
    assert objects == []
