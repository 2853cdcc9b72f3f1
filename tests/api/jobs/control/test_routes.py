"""Reading, waiting for, listing, cancelling and deleting jobs."""

from __future__ import annotations

import time
from datetime import datetime

import httpx
import pytest

from storage.jobs.record import JobError
from storage.queue.worker_slots import WorkerSlots
from tests.api.harness import GPU_QUEUE, ServedApi, commit, finish_job, start_job, until_under_way
from tests.threads import BoundedExecutor

UNKNOWN = "job_01arz3ndektsv4rrffq69g5fav"


def test_a_pending_job_tells_its_place_and_when_to_ask_again(api: ServedApi) -> None:
    first, second = api.submit("A first sentence."), api.submit("A second sentence.")

    answer = api.http.get(second["links"]["self"])

    assert answer.json()["queue"]["class"] == "interactive"
    assert answer.json()["queue"]["ahead_audio_s"] > 0
    assert first["queue"]["ahead_audio_s"] == 0
    assert int(answer.headers["retry-after"]) >= 1


def test_a_job_says_whether_its_model_has_a_worker(api: ServedApi) -> None:
    job = api.submit()

    before = api.http.get(job["links"]["self"]).json()
    WorkerSlots(api.redis).announce(GPU_QUEUE, "w", 4)
    after = api.http.get(job["links"]["self"]).json()

    assert (before["state"], before["queue"]["has_worker"]) == ("pending", False)
    assert (after["state"], after["queue"]["has_worker"]) == ("pending", True)


def test_a_running_job_tells_its_progress_and_an_eta_at_the_pace_of_the_fleet(api: ServedApi) -> None:
    job = api.submit()
    WorkerSlots(api.redis).announce(GPU_QUEUE, "w", 1)
    item = start_job(api, num_segments=4)
    before = api.http.get(job["links"]["self"]).json()
    commit(api, item)

    after = api.http.get(job["links"]["self"]).json()

    assert (before["state"], before["phase"]) == ("running", "synthesizing")
    assert (before["progress"]["fraction"], before["progress"]["eta_s"]) == (0.0, None)
    counts = {"total": 4, "done": 0, "running": 1, "failed": 0, "reused": 0, "flagged": 0}
    assert before["progress"]["segments"] == counts
    assert (after["progress"]["fraction"], after["progress"]["eta_basis"]) == (0.25, "fleet_rate")
    assert after["queue"]["pace"] > 0
    assert after["progress"]["eta_s"] > 0
    assert after["progress"]["audio_s_done"] == 1.0


def test_a_list_and_a_single_read_know_the_same_eta_and_place(api: ServedApi) -> None:
    ended = api.submit("This one is done.")
    WorkerSlots(api.redis).announce(GPU_QUEUE, "w", 1)
    finish_job(api)
    running = api.submit("This one is being spoken now.")
    commit(api, start_job(api, num_segments=4))
    waiting = api.submit("This one waits behind the other, and is longer than that. " * 5)

    listed = {job["id"]: job for job in api.http.get("/v1/jobs").json()["data"]}

    assert (listed[ended["id"]]["queue"], listed[ended["id"]]["progress"]["eta_s"]) == (None, None)
    for job in (running, waiting):
        alone, among = api.http.get(job["links"]["self"]).json(), listed[job["id"]]
        assert among["progress"]["eta_basis"] == alone["progress"]["eta_basis"] == "fleet_rate"
        assert among["progress"]["eta_s"] == pytest.approx(alone["progress"]["eta_s"], rel=0.2)
        assert among["queue"]["position"] == alone["queue"]["position"]


def test_a_finished_job_shows_its_artifacts_and_no_retry_after(api: ServedApi) -> None:
    job = api.submit()
    finish_job(api)

    answer = api.http.get(job["links"]["self"])

    shown = answer.json()
    assert (shown["state"], shown["queue"], shown["progress"]["fraction"]) == ("succeeded", None, 1.0)
    assert [artifact["name"] for artifact in shown["artifacts"]] == ["narration.wav"]
    created, started, finished, expires = (
        datetime.fromisoformat(shown[name]) for name in ("created_at", "started_at", "finished_at", "expires_at")
    )
    assert expires > finished >= started >= created
    assert "retry-after" not in answer.headers


def test_a_failed_job_says_why(api: ServedApi) -> None:
    job = api.submit()
    item = start_job(api)
    api.jobs.fail(item.lease, JobError("segment_quality", "it does not stop", 0))

    shown = api.http.get(job["links"]["self"]).json()

    assert shown["state"] == "failed"
    assert shown["error"] == {
        "type": "/errors/segment_quality",
        "title": "A segment did not pass its checks",
        "status": 422,
        "detail": "it does not stop",
        "instance": f"/v1/jobs/{job['id']}",
        "code": "segment_quality",
        "retryable": True,
        "errors": [{"segment": "seg_000000", "code": "segment_quality", "detail": "it does not stop"}],
        "segment": 0,
    }


def test_a_failure_of_a_kind_that_only_newer_workers_know_is_shown_all_the_same(api: ServedApi) -> None:
    job = api.submit()
    api.jobs.fail(start_job(api).lease, JobError("out_of_tape", "the reel is empty"))

    error = api.http.get(job["links"]["self"]).json()["error"]

    assert (error["code"], error["title"], error["status"]) == ("out_of_tape", "The job did not succeed", None)
    assert (error["detail"], error["retryable"]) == ("the reel is empty", False)


@pytest.mark.parametrize("job_id", [UNKNOWN, "job_1", "JOB_01ARZ3NDEKTSV4RRFFQ69G5FAV", "..", "job_%00", "a" * 2_000])
@pytest.mark.parametrize(("method", "below"), [("GET", ""), ("DELETE", ""), ("POST", "/cancel"), ("GET", "/events")])
def test_what_is_no_job_is_not_found(api: ServedApi, job_id: str, method: str, below: str) -> None:
    answer = api.http.request(method, f"{api.url}/v1/jobs/{job_id}{below}")

    assert answer.status_code in {404, 405} if job_id == ".." else answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"


def test_an_unchanged_job_is_not_sent_again(api: ServedApi) -> None:
    job = api.submit()
    etag = api.http.get(job["links"]["self"]).headers["etag"]

    same = api.http.get(job["links"]["self"], headers={"If-None-Match": f'"x", {etag}'})
    api.http.post(job["links"]["cancel"])
    changed = api.http.get(job["links"]["self"], headers={"If-None-Match": etag})

    assert (same.status_code, same.content) == (304, b"")
    assert same.headers["etag"] == etag
    assert changed.json()["state"] == "cancelled"


def test_a_job_that_has_ended_is_in_no_phase(api: ServedApi) -> None:
    job = api.submit()["links"]
    finish_job(api)

    shown = api.http.get(job["self"]).json()
    told = [line for line in api.http.get(job["events"]).text.splitlines() if line.startswith("data: ")]

    assert (shown["state"], shown["phase"]) == ("succeeded", None)
    assert '"state":"succeeded","phase":null' in told[-1]


def test_head_answers_like_get_without_the_body(api: ServedApi) -> None:
    job = api.submit()

    answer = api.http.head(job["links"]["self"])

    assert (answer.status_code, answer.content) == (200, b"")
    assert "etag" in answer.headers


MOST_WAIT_S = 60
"""The longest wait that the API grants."""


def test_a_wait_ends_when_the_job_ends(api: ServedApi) -> None:
    job = api.submit()
    with BoundedExecutor() as pool:
        waiting = pool.submit(api.http.get, job["links"]["self"], headers={"Prefer": f"wait={MOST_WAIT_S}"})
        until_under_way(api, 1)
        assert not waiting.done()

        finish_job(api)
        ended_s = time.monotonic()
        answer = waiting.result()

    assert answer.json()["state"] == "succeeded"
    assert answer.headers["preference-applied"] == f"wait={MOST_WAIT_S}"
    assert time.monotonic() - ended_s < MOST_WAIT_S / 2


def test_a_wait_that_is_over_answers_with_the_job_as_it_is(api: ServedApi) -> None:
    job = api.submit()
    started_s = time.monotonic()

    answer = api.http.get(job["links"]["self"], headers={"Prefer": "respond-async, wait=1"})

    assert 1 <= time.monotonic() - started_s < MOST_WAIT_S / 2
    assert answer.json()["state"] == "pending"


def test_a_wait_for_an_ended_job_is_none(api: ServedApi) -> None:
    job = api.submit()
    finish_job(api)
    started_s = time.monotonic()

    answer = api.http.get(job["links"]["self"], headers={"Prefer": "wait=900"})

    assert time.monotonic() - started_s < MOST_WAIT_S / 2
    assert answer.headers["preference-applied"] == f"wait={MOST_WAIT_S}"


def test_a_hundred_waiting_clients_hold_up_no_request(api: ServedApi) -> None:
    job = api.submit()
    limits = httpx.Limits(max_connections=None)
    with BoundedExecutor(100) as pool, httpx.Client(limits=limits, timeout=60) as http:
        headers = {"Prefer": f"wait={MOST_WAIT_S}"}
        waiting = [pool.submit(http.get, job["links"]["self"], headers=headers) for _ in range(100)]
        until_under_way(api, len(waiting))

        api.submit("Another one.")
        assert not any(each.done() for each in waiting)
        api.http.post(job["links"]["cancel"])

        assert {answer.result().json()["state"] for answer in waiting} == {"cancelled"}


def test_a_pending_job_is_cancelled_at_once(api: ServedApi) -> None:
    job = api.submit()

    answer = api.http.post(job["links"]["cancel"])
    again = api.http.post(job["links"]["cancel"])

    assert (answer.status_code, answer.json()["state"]) == (200, "cancelled")
    assert (again.status_code, again.json()["state"]) == (200, "cancelled")
    error = answer.json()["error"]
    assert (error["code"], error["status"], error["retryable"]) == ("cancelled_by_user", None, False)


def test_a_job_at_work_is_cancelling_until_its_workers_know(api: ServedApi) -> None:
    job = api.submit()
    start_job(api)

    answer = api.http.post(job["links"]["cancel"])

    assert (answer.status_code, answer.json()["state"]) == (202, "cancelling")


def test_an_ended_job_cannot_be_cancelled(api: ServedApi) -> None:
    job = api.submit()
    finish_job(api)

    answer = api.http.post(job["links"]["cancel"])

    assert (answer.status_code, answer.json()["code"]) == (409, "state_conflict")


def test_an_active_job_cannot_be_deleted(api: ServedApi) -> None:
    job = api.submit()

    answer = api.http.delete(job["links"]["self"])

    assert (answer.status_code, answer.json()["code"]) == (409, "state_conflict")
    assert api.http.get(job["links"]["self"]).status_code == 200


def test_a_deleted_job_is_gone_with_all_its_objects(api: ServedApi) -> None:
    job = api.submit()
    finish_job(api)

    answer = api.http.delete(job["links"]["self"])
    again = api.http.delete(job["links"]["self"])

    assert (answer.status_code, answer.content, again.status_code) == (204, b"", 204)
    assert api.traces()[1] == []
    for path in ("", "/events", "/artifacts", "/artifacts/narration.wav"):
        gone = api.http.get(f"{job['links']['self']}{path}")
        assert (gone.status_code, gone.json()["code"]) == (410, "gone")


def test_the_list_is_paged_newest_first_without_gaps(api: ServedApi) -> None:
    ids = [api.submit(f"Sentence {number}.")["id"] for number in range(7)]
    seen: list[str] = []
    cursor: dict[str, str] = {}

    while True:
        page = api.http.get("/v1/jobs", params={"limit": 3, **cursor}).json()
        seen += [job["id"] for job in page["data"]]
        if not page["has_more"]:
            break
        cursor = {"cursor": page["next_cursor"]}

    assert sorted(seen, reverse=True) == seen
    assert set(seen) == set(ids)
    assert page["next_cursor"] is None
    assert [job["id"] for job in api.http.get("/v1/jobs", params={"order": "asc"}).json()["data"]] == sorted(ids)


def test_the_list_is_filtered_by_state_time_and_metadata(api: ServedApi) -> None:
    old = api.submit("Old.", metadata={"book": "1", "part": "a"})
    api.http.post(old["links"]["cancel"])
    time.sleep(0.01)
    middle = api.http.get(old["links"]["self"]).json()["finished_at"]
    time.sleep(0.01)
    new = api.submit("New.", metadata={"book": "2", "part": "a"})

    def listed(*parameters: tuple[str, str]) -> list[str]:
        return [job["id"] for job in api.http.get("/v1/jobs", params=list(parameters)).json()["data"]]

    assert listed(("state", "cancelled")) == [old["id"]]
    assert listed(("state", "cancelled"), ("state", "pending")) == [new["id"], old["id"]]
    assert listed(("created_after", middle)) == [new["id"]]
    assert listed(("created_before", middle)) == [old["id"]]
    assert listed(("metadata[book]", "2")) == [new["id"]]
    assert listed(("metadata[book]", "1"), ("metadata[part]", "b")) == []
    assert listed(("metadata[none]", "1")) == []


@pytest.mark.parametrize(
    ("parameters", "name"),
    [
        ({"limit": "0"}, "limit"),
        ({"limit": "101"}, "limit"),
        ({"limit": "many"}, "limit"),
        ({"limit": "9" * 5_000}, "limit"),
        ({"order": "up"}, "order"),
        ({"state": "done"}, "state"),
        ({"created_after": "yesterday"}, "created_after"),
        ({"created_after": "2026-01-01T00:00:00"}, "created_after"),
        ({"cursor": "!"}, "cursor"),
        ({"cursor": "am9iXzE"}, "cursor"),
        ({"stat": "pending"}, "stat"),
        ({"metadata[]": "1"}, "metadata[]"),
    ],
)
def test_a_bad_query_names_its_parameter(api: ServedApi, parameters: dict[str, str], name: str) -> None:
    answer = api.http.get("/v1/jobs", params=parameters)

    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")
    assert answer.json()["errors"][0]["parameter"] == name
