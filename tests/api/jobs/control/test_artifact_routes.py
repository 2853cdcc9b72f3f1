"""What a job made: listed, linked, and served by the local store's signed links."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import anyio
import httpx
import pytest
from fastapi.routing import APIRoute
from starlette.routing import Match
from starlette.types import Scope

from api.settings import ApiSettings
from api.system import objects
from rhapsode import Rhapsode
from storage.jobs.chapter_files import CHAPTERS, ChapterFile, encode_chapter_files, file_name, list_name, object_name
from storage.jobs.record import ArtifactRecord
from storage.jobs.work_queues import CPU_QUEUE
from storage.objects.keys import artifact
from tests.api.harness import SMALL, ServedApi, claim, finish_job, finish_segments, serve
from tests.settings import api_settings_of
from tests.storage.objects.embedded_s3 import BUCKET, EmbeddedS3

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

    assert api.http.get(job["links"]["artifacts"]).json() == {"data": [], "next_cursor": None, "has_more": False}
    assert missing.status_code == 404
    assert "pending" in missing.json()["detail"]


def test_files_of_chapters_are_pages_behind_their_list(api: ServedApi, tmp_path: Path) -> None:
    """The job itself shows but the list, however many there are; each is served under its own name."""
    job = api.submit()
    files = finish_in_chapters(api, 1_000)

    shown = api.http.get(job["links"]["self"]).json()["artifacts"]
    assert [(each["name"], each["files"], each["files_bytes"]) for each in shown] == [
        ("chapters-mp3.json", 1_000, sum(file.bytes for file in files))
    ]
    address: str | None = f"{job['links']['artifacts']}?limit=300"
    pages: list[list[dict[str, Any]]] = []
    while address:
        page = api.http.get(address).json()
        pages.append(page["data"])
        more = page["next_cursor"]
        address = f"{job['links']['artifacts']}?limit=300&cursor={more}" if page["has_more"] else None
    assert [len(page) for page in pages] == [300, 300, 300, 101]
    found = [each for page in pages for each in page][1:]
    assert [(each["name"], each["chapter"], each["title"]) for each in found] == [
        (file.name, file.chapter, file.title) for file in files
    ]
    last = api.http.get(found[-1]["url"])
    named = api.http.get(f"{job['links']['artifacts']}/{quote(found[-1]['name'])}", follow_redirects=True)
    with Rhapsode(api.url) as client:
        saved = client.download(client.job(job["id"]), "1000 Über & unter.mp3", tmp_path / "last.mp3")
    assert last.content == named.content == saved.read_bytes() == b"chapter 1000"
    assert "1000%20%C3%9Cber%20%26%20unter.mp3" in last.headers["content-disposition"]
    assert job["id"] not in last.headers["content-disposition"]
    missing = api.http.get(f"{job['links']['artifacts']}/1001.mp3")
    assert (missing.status_code, "and 1000 files of chapters" in missing.json()["detail"]) == (404, True)
    wrong = api.http.get(f"{job['links']['artifacts']}?cursor=x")
    assert wrong.json()["errors"][0]["code"] == "invalid_cursor"


def finish_in_chapters(api: ServedApi, num: int) -> list[ChapterFile]:
    """Do the work of the only waiting job, as an assembly does that makes a file for each chapter."""
    finish_segments(api)
    item = claim(api, CPU_QUEUE)
    files: list[ChapterFile] = []
    for number in range(1, num + 1):
        stored = api.objects.put(artifact(item.lease, object_name(number, "mp3")), f"chapter {number}".encode())
        name = file_name(number, num, "Über & unter", "mp3")
        files.append(
            ChapterFile(number, "Über & unter", name, object_name(number, "mp3"), stored.bytes, stored.sha256, 1.0)
        )
    name = list_name("mp3")
    stored = api.objects.put(artifact(item.lease, name), encode_chapter_files("mp3", files))
    listing = ArtifactRecord(name, CHAPTERS, stored.key, stored.bytes, stored.sha256, 2.0)
    api.jobs.finish(item.lease, [replace(listing, listed=num, listed_bytes=sum(each.bytes for each in files))])
    return files


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


def test_a_small_object_is_one_read_and_says_what_a_large_one_says(
    api: ServedApi, link: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[object] = []
    open_file = anyio.open_file

    async def noted(path: Path, mode: Literal["rb"]) -> anyio.AsyncFile[bytes]:
        opened.append(path)
        return await open_file(path, mode)

    monkeypatch.setattr(anyio, "open_file", noted)
    small = httpx.get(link)
    assert opened == []
    monkeypatch.setattr(objects, "WHOLE_BYTES", len(AUDIO) - 1)
    streamed = httpx.get(link)
    monkeypatch.setattr(objects, "WHOLE_BYTES", len(AUDIO))
    monkeypatch.setattr(objects, "_room", objects.Room(len(AUDIO) - 1))
    crowded = httpx.get(link)

    assert len(opened) == 2
    for answer in (small, streamed, crowded):
        assert (answer.status_code, answer.content) == (200, AUDIO)
    assert _said(small) == _said(streamed) == _said(crowded)


def test_room_for_objects_is_given_back(link: str, monkeypatch: pytest.MonkeyPatch) -> None:
    room = objects.Room(len(AUDIO))
    monkeypatch.setattr(objects, "_room", room)

    for _ in range(2):
        assert httpx.get(link).content == AUDIO
        assert not room.take(len(AUDIO) + 1)
    assert room.take(len(AUDIO))


def test_addresses_of_every_job_are_found_without_asking_every_route(
    api: ServedApi, link: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[APIRoute] = []
    matches = APIRoute.matches

    def noted(route: APIRoute, scope: Scope) -> tuple[Match, Scope]:
        asked.append(route)
        return matches(route, scope)

    monkeypatch.setattr(APIRoute, "matches", noted)
    [job] = api.http.get("/v1/jobs").json()["data"]
    for address in (job["links"]["self"], f"{job['links']['artifacts']}/narration.wav", link):
        asked.clear()
        assert api.http.get(address).status_code < 400
        assert len(asked) < 30


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
    # Who was given the link reads it in a browser.
    page = httpx.get(link, headers={"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "The file was deleted or made again." in page.text
    assert page.headers["content-security-policy"].startswith("default-src 'none'")


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


def _said(answer: httpx.Response) -> dict[str, str]:
    return {name: value for name, value in answer.headers.items() if name not in ("date", "x-request-id")}
