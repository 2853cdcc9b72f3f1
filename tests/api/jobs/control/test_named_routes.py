"""Jobs under ids that clients choose."""

from __future__ import annotations

import threading
from typing import Any

import httpx
import pytest

from api.settings import ApiSettings
from storage.ids import new_job_id
from storage.tenants.api_keys import key_digest
from tests.api.harness import SMALL, ServedApi, finish_job, serve
from tests.settings import api_settings_of
from tests.threads import join_in_time

TEXT = "Mine, by name."
BODY = {"input": {"text": TEXT}, "seed": 7}


def put(api: ServedApi, job: str, body: dict[str, Any] = BODY, headers: dict[str, str] | None = None) -> httpx.Response:
    return httpx.put(f"{api.url}/v1/jobs/{job}", json=body, timeout=30, headers=headers)


@pytest.mark.parametrize("suffix", ["", "_a"], ids=["new id", "old id with a suffix"])
def test_a_put_creates_once_and_shows_the_job_afterwards(api: ServedApi, suffix: str) -> None:
    job = f"{new_job_id()}{suffix}"

    first, second = put(api, job), put(api, job)
    finish_job(api)
    third = put(api, job)

    assert [answer.status_code for answer in (first, second, third)] == [202, 200, 200]
    assert first.json()["id"] == second.json()["id"] == job
    assert third.json()["state"] == "succeeded"
    assert first.headers["location"].endswith(f"/v1/jobs/{job}")
    assert len(api.http.get("/v1/jobs").json()["data"]) == 1


def test_an_id_that_is_taken_is_refused_and_its_job_left_alone(api: ServedApi) -> None:
    job = new_job_id()
    put(api, job)
    posted = api.submit()["id"]
    before = api.traces()

    for taken in (put(api, job, BODY | {"seed": 8}), put(api, posted)):
        assert (taken.status_code, taken.json()["code"]) == (409, "state_conflict")
    assert api.traces() == before


def test_a_refused_put_leaves_nothing_and_may_be_mended(api: ServedApi) -> None:
    job = new_job_id()

    assert put(api, job, {"input": {"text": " "}}).status_code == 422
    assert put(api, job).status_code == 202


def test_a_deleted_job_does_not_come_back(api: ServedApi) -> None:
    job = new_job_id()
    put(api, job)
    finish_job(api)
    api.http.delete(f"/v1/jobs/{job}")

    assert put(api, job).status_code == 410


def test_what_a_creation_left_that_died_is_in_no_requests_way(api: ServedApi) -> None:
    job = new_job_id()
    api.objects.put(f"jobs/local/{job}/input.txt", b"half a job")

    assert put(api, job).status_code == 202
    assert api.objects.get(f"jobs/local/{job}/input.txt") == TEXT.encode()


def test_of_many_puts_at_once_one_creates(api: ServedApi) -> None:
    job = new_job_id()
    answers: list[httpx.Response] = []
    threads = [threading.Thread(target=lambda: answers.append(put(api, job))) for _ in range(6)]
    for thread in threads:
        thread.start()
    join_in_time(*threads)

    assert [answer.status_code for answer in answers].count(202) == 1
    assert {answer.status_code for answer in answers} <= {200, 202, 409}
    assert put(api, job).status_code == 200


@pytest.mark.parametrize("job", ["job_1", "mine", "job_" + "0" * 26])
def test_an_id_that_is_none_of_today_is_refused(api: ServedApi, job: str) -> None:
    assert put(api, job).status_code in (404, 422)
    assert api.http.get("/v1/jobs").json()["data"] == []


def test_another_tenants_id_is_neither_shown_nor_harmed(api_settings: ApiSettings) -> None:
    keys = {key_digest(name): name for name in ("ann", "ben")}
    ann, ben = ({"Authorization": f"Bearer {name}"} for name in ("ann", "ben"))
    with serve(api_settings_of(api_settings, api_keys=keys)) as api:
        api.models.publish(SMALL)
        job = new_job_id()
        put(api, job, headers=ann)

        taken = put(api, job, headers=ben)

        assert (taken.status_code, taken.json()["code"]) == (409, "state_conflict")
        assert "Mine" not in taken.text
        assert httpx.get(f"{api.url}/v1/jobs/{job}", headers=ann).json()["state"] == "pending"
