"""Links that are given away: how long they hold, what the file is called, and what a stranger gets."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from urllib.parse import unquote

import httpx
import pytest

from tests.api.harness import ServedApi
from tests.api.jobs.control.test_artifact_routes import AUDIO, finish_job

WEEK_S = 7 * 24 * 3600


def share(api: ServedApi, links: dict[str, str], name: str = "narration.wav", **order: object) -> httpx.Response:
    return api.http.post(f"{links['artifacts']}/{name}/share", json=order)


def test_a_link_leads_somebody_without_a_key_to_the_file_by_its_title(api: ServedApi) -> None:
    job = api.submit(metadata={"title": "  The Fox: and/or   the Grapes?. "})
    finish_job(api, AUDIO)

    asked = datetime.now(UTC)
    shared = share(api, job["links"], expires_in_s=3600).json()
    answered = datetime.now(UTC)
    download = httpx.get(shared["url"])

    assert shared["filename"] == "The Fox and or the Grapes.wav"
    assert download.content == AUDIO
    assert unquote(download.headers["content-disposition"]).endswith("The Fox and or the Grapes.wav")
    begins = datetime.fromisoformat(shared["expires_at"]) - timedelta(seconds=3600)
    assert asked.replace(microsecond=0) <= begins <= answered


def test_a_browser_plays_what_is_shared(api: ServedApi) -> None:
    job = api.submit(metadata={"title": "The Fox"})
    finish_job(api, AUDIO)
    shared = share(api, job["links"]).json()
    browser = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}

    opened, fetched = httpx.get(shared["url"], headers=browser), httpx.get(shared["url"])

    assert opened.headers["content-disposition"].startswith("inline;")
    assert fetched.headers["content-disposition"].startswith("attachment;")


def test_it_holds_no_longer_than_the_job(api: ServedApi) -> None:
    job = api.submit(retention_s=7200)
    finish_job(api, AUDIO)

    ends = datetime.fromisoformat(share(api, job["links"]).json()["expires_at"])

    kept_until = datetime.fromisoformat(api.http.get(job["links"]["self"]).json()["expires_at"])
    assert abs(ends - kept_until) < timedelta(seconds=2)


def test_without_a_title_the_job_tells_files_apart(api: ServedApi) -> None:
    job = api.submit()
    finish_job(api, AUDIO)

    assert share(api, job["links"]).json()["filename"] == f"{job['id']}-narration.wav"


@pytest.mark.parametrize("seconds", [59, WEEK_S + 1, -1, "3600", 1.5])
def test_a_time_that_cannot_be_is_refused(api: ServedApi, seconds: object) -> None:
    job = api.submit()
    finish_job(api, AUDIO)

    answer = share(api, job["links"], expires_in_s=seconds)

    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")


def test_what_is_not_there_cannot_be_shared(api: ServedApi) -> None:
    job = api.submit()
    finish_job(api, AUDIO)

    assert share(api, job["links"], "other.wav").status_code == 404
    assert api.http.post(f"/v1/jobs/job_{'0' * 26}/artifacts/narration.wav/share", json={}).status_code == 404
