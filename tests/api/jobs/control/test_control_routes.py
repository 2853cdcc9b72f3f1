"""Pausing, resuming, changing, retrying and assembling again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from storage.jobs.record import JobError
from storage.jobs.work_queues import CPU_QUEUE
from storage.queue.worker_slots import WorkerSlots
from tests.api.harness import GPU_QUEUE, WORKER, ServedApi, claim, commit, finish_job, job_id, start_job


def post(
    api: ServedApi, job: dict[str, Any], action: str, body: object = None, **headers: str
) -> tuple[int, dict[str, Any]]:
    # To httpx, None is no body.
    answer = api.http.post(f"{job['links']['self']}/{action}", headers=headers, json=body)
    return answer.status_code, answer.json()


def patch(api: ServedApi, job: dict[str, Any], **changes: object) -> tuple[int, dict[str, Any]]:
    answer = api.http.patch(job["links"]["self"], json=changes)
    return answer.status_code, answer.json()


def fail_job(api: ServedApi) -> None:
    item = start_job(api)
    api.jobs.fail(item.lease, JobError("segment_quality", "it does not stop", 0))


def test_a_paused_job_is_given_to_no_worker_until_it_is_resumed(api: ServedApi) -> None:
    job = api.submit()

    paused, again = post(api, job, "pause"), post(api, job, "pause")
    claimed = api.jobs.claim(CPU_QUEUE, WORKER, 30).item
    resumed, once_more = post(api, job, "resume"), post(api, job, "resume")

    assert [(status, shown["state"]) for status, shown in (paused, again)] == [(200, "paused")] * 2
    assert paused[1]["queue"]["position"] is None
    assert claimed is None
    assert [(status, shown["state"]) for status, shown in (resumed, once_more)] == [(200, "pending")] * 2
    assert claim(api, CPU_QUEUE).lease.job == job_id(job)


def test_an_ended_job_can_be_neither_paused_nor_changed(api: ServedApi) -> None:
    job = api.submit()
    finish_job(api)

    answers = [post(api, job, "pause"), post(api, job, "resume"), patch(api, job, priority="high")]

    assert [(status, problem["code"]) for status, problem in answers] == [(409, "state_conflict")] * 3


def test_a_waiting_job_is_put_into_another_class(api: ServedApi) -> None:
    long = api.submit("A sentence of a long text. " * 60)
    short = api.submit("A short one.", priority="low")
    assert (long["queue"]["class"], short["queue"]["class"]) == ("bulk", "bulk")
    assert (long["queue"]["position"], short["queue"]["position"]) == (0, 1)

    status, shown = patch(api, short, priority="high", metadata={"who": "me"}, retention_s=120)

    assert (status, shown["queue"]["class"], shown["queue"]["position"]) == (200, "interactive", 0)
    assert (shown["request"]["priority"], shown["metadata"], shown["request"]["retention_s"]) == (
        "high",
        {"who": "me"},
        120,
    )
    assert claim(api, CPU_QUEUE).lease.job == job_id(short)
    assert api.jobs.audit_counters() == ()


def test_a_deadline_is_set_and_removed(api: ServedApi) -> None:
    job = api.submit()
    deadline = (datetime.now(UTC) + timedelta(hours=1)).replace(microsecond=0)

    _, with_one = patch(api, job, deadline=deadline.isoformat())
    _, without = patch(api, job, deadline=None)
    past, problem = patch(api, job, deadline="2020-01-01T00:00:00Z")

    assert datetime.fromisoformat(with_one["request"]["deadline"]) == deadline
    assert without["request"]["deadline"] is None
    assert (past, problem["errors"][0]["pointer"]) == (422, "/deadline")


@pytest.mark.parametrize(
    ("body", "pointer"),
    [({}, ""), ({"priority": "urgent"}, "/priority"), ({"retention_s": 1}, "/retention_s"), ({"voice": "x"}, "/voice")],
)
def test_a_change_that_is_none_is_refused(api: ServedApi, body: dict[str, Any], pointer: str) -> None:
    job = api.submit()

    answer = api.http.patch(job["links"]["self"], json=body)

    assert (answer.status_code, answer.json()["errors"][0].get("pointer", "")) == (422, pointer)


def test_a_failed_job_is_retried_with_what_was_asked_for(api: ServedApi) -> None:
    job = api.submit()
    fail_job(api)

    order = {"quality": {"on_exhausted": "keep_best"}, "sampling": {"temperature": 0.7}, "seed": 9}
    status, shown = post(api, job, "retry", order)
    again, _ = post(api, job, "retry", order)
    other, problem = post(api, job, "retry", {"seed": 10})

    assert (status, again, shown["state"], shown["error"], shown["finished_at"]) == (202, 202, "pending", None, None)
    request = shown["request"]
    assert (request["seed"], request["quality"]["on_exhausted"], request["quality"]["gate"]) == (
        9,
        "keep_best",
        "basic",
    )
    assert request["sampling"]["temperature"] == 0.7
    assert (other, problem["code"]) == (409, "state_conflict")
    assert claim(api, GPU_QUEUE).narration.request.seed == 9


def test_a_job_that_succeeded_is_not_retried(api: ServedApi) -> None:
    job = api.submit()
    finish_job(api)

    assert post(api, job, "retry")[0] == 409


def test_a_retry_is_a_job_of_the_quota(api: ServedApi) -> None:
    job = api.submit()
    fail_job(api)
    api.redis.hset("{rhapsode}:total", "jobs", 100_000)

    status, problem = post(api, job, "retry")

    assert (status, problem["code"], problem["retryable"]) == (503, "backlog_full", True)


def test_an_output_is_made_again_in_another_format(api: ServedApi) -> None:
    job = api.submit()
    finish_job(api)

    order = {"output": {"formats": [{"type": "mp3", "bitrate_kbps": 64}]}}
    status, shown = post(api, job, "assemble", order, **{"Idempotency-Key": "k"})
    again, _ = post(api, job, "assemble", order, **{"Idempotency-Key": "k"})
    other, problem = post(api, job, "assemble", {}, **{"Idempotency-Key": "k"})

    assert (status, again, shown["state"], shown["phase"]) == (202, 202, "pending", "assembling")
    assert shown["request"]["output"]["formats"] == [{"type": "mp3", "bitrate_kbps": 64, "files": "whole"}]
    assert [artifact["name"] for artifact in shown["artifacts"]] == ["narration.wav"]
    assert (other, problem["code"]) == (422, "idempotency_mismatch")
    item = claim(api, CPU_QUEUE)
    assert (item.lease.item, item.narration.request.output.formats[0].type) == ("assemble", "mp3")


def test_an_output_is_changed_field_by_field(api: ServedApi) -> None:
    output = {
        "formats": [{"type": "wav"}, {"type": "mp3", "bitrate_kbps": 64}],
        "loudness": {"target_lufs": -20, "scope": "chapter"},
        "tags": {"title": "Fables", "author": "Aesop"},
        "subtitles": ["srt"],
    }
    job = api.submit(output=output)
    finish_job(api)
    as_submitted = job["request"]["output"]

    def assembled(**changes: object) -> dict[str, Any]:
        status, shown = post(api, job, "assemble", {"output": changes})
        assert status == 202, shown
        return shown["request"]["output"]

    other_format = assembled(formats=[{"type": "m4b"}])
    other_details = assembled(loudness={"target_lufs": -16}, tags={"author": None, "genre": "Fable"})
    removed = assembled(loudness=None, subtitles=None, tags=None, formats=None)

    assert other_format == as_submitted | {"formats": [{"type": "m4b", "bitrate_kbps": 96, "files": "whole"}]}
    assert other_details == other_format | {
        "loudness": {"target_lufs": -16, "max_true_peak_db": -1.5, "scope": "chapter"},
        "tags": {"title": "Fables", "genre": "Fable"},
    }
    assert removed == api.submit()["request"]["output"]


def test_what_only_the_whole_output_shows_to_be_wrong_is_refused_with_its_place(api: ServedApi) -> None:
    job = api.submit(output={"formats": [{"type": "mp3", "bitrate_kbps": 160}, {"type": "m4b"}]})
    finish_job(api)

    refused = post(api, job, "assemble", {"output": {"sample_rate": 8_000}})
    unknown = post(api, job, "assemble", {"output": {"tags": {"colour": None}}})
    _, other_rate = post(api, job, "assemble", {"output": {"sample_rate": 8_000, "formats": [{"type": "m4b"}]}})
    _, back = post(api, job, "assemble", {"output": {"sample_rate": None}})

    assert (refused[0], refused[1]["errors"][0]["pointer"]) == (422, "/output/formats/0/bitrate_kbps")
    assert (unknown[0], unknown[1]["errors"][0]["pointer"]) == (422, "/output/tags/colour")
    assert other_rate["request"]["output"]["formats"] == [{"type": "m4b", "bitrate_kbps": 48, "files": "whole"}]
    # Nobody chose the bitrate, so it follows the sample rate.
    assert back["request"]["output"]["formats"] == [{"type": "m4b", "bitrate_kbps": 96, "files": "whole"}]


def test_what_is_not_done_cannot_be_assembled(api: ServedApi) -> None:
    job = api.submit()
    commit(api, start_job(api))

    under_way = post(api, job, "assemble")
    api.http.post(job["links"]["cancel"])
    cancelled = post(api, job, "assemble")

    assert (under_way[0], cancelled[0]) == (409, 409)
    assert "retry the job first" in cancelled[1]["detail"]


def test_a_format_that_does_not_fit_is_refused_before_anything_is_made(api: ServedApi) -> None:
    job = api.submit()
    finish_job(api)

    status, problem = post(api, job, "assemble", {"output": {"formats": [{"type": "wav", "bitrate_kbps": 64}]}})

    assert (status, problem["errors"][0]["pointer"]) == (422, "/output/formats/0/bitrate_kbps")
    assert api.http.get(job["links"]["self"]).json()["state"] == "succeeded"


def test_waiting_is_told_before_the_first_segment(api: ServedApi) -> None:
    WorkerSlots(api.redis).announce(GPU_QUEUE, "w", 1)
    measured = api.submit()
    finish_job(api)

    job = api.submit("A text that takes a while to be spoken.")

    assert api.http.get(measured["links"]["self"]).json()["queue"] is None
    assert (job["state"], job["progress"]["eta_basis"]) == ("pending", "fleet_rate")
    assert job["progress"]["eta_s"] > 0


def test_a_deadline_that_cannot_be_kept_is_refused(api: ServedApi) -> None:
    WorkerSlots(api.redis).announce(GPU_QUEUE, "w", 1)
    api.submit()
    finish_job(api)
    soon = (datetime.now(UTC) + timedelta(seconds=60)).isoformat()
    text = "A sentence that takes a while. " * 3_000

    refused = api.http.post("/v1/jobs", json={"input": {"text": text}, "deadline": soon})
    short = api.http.post("/v1/jobs", json={"input": {"text": "Short."}, "deadline": soon})

    assert (refused.status_code, refused.json()["code"]) == (409, "deadline_unreachable")
    assert refused.json()["errors"][0]["pointer"] == "/deadline"
    assert short.status_code == 202
