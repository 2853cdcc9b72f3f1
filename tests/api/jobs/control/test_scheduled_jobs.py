"""`not_before`: when a job may start."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from storage.ids import TenantId
from storage.jobs.batch_lines import decode_shard
from storage.jobs.work_queues import CPU_QUEUE
from storage.objects.keys import batch_shard
from tests.api.batches.test_routes import a_line, lines, post
from tests.api.harness import WORKER, ServedApi, claim, job_id
from tests.api.jobs.control.test_control_routes import patch

LOCAL = TenantId("local")


def in_a(**amount: float) -> str:
    return (datetime.now(UTC).replace(microsecond=0) + timedelta(**amount)).isoformat()


def refusal(api: ServedApi, **fields: object) -> dict[str, Any]:
    answer = api.http.post("/v1/jobs", json={"input": {"text": "Good morning."}, **fields})
    assert answer.status_code == 422, answer.text
    [error] = answer.json()["errors"]
    return error


def test_a_job_tells_what_it_waits_for_and_has_no_place_in_the_line(api: ServedApi) -> None:
    tomorrow = in_a(days=1)

    job = api.submit(not_before=tomorrow)

    assert job["state"] == "pending"
    assert datetime.fromisoformat(job["request"]["not_before"]) == datetime.fromisoformat(tomorrow)
    assert job["queue"]["position"] is None
    assert api.jobs.claim(CPU_QUEUE, WORKER, 30).item is None


def test_a_time_that_has_passed_is_taken_for_now(api: ServedApi) -> None:
    job = api.submit(not_before=in_a(hours=-1))

    assert claim(api, CPU_QUEUE).lease.job == job_id(job)


def test_a_time_that_cannot_be_kept_is_refused_with_its_reason(api: ServedApi) -> None:
    too_far = refusal(api, not_before=in_a(days=91))
    too_late = refusal(api, not_before=in_a(hours=2), deadline=in_a(hours=1))
    no_plan = refusal(api, not_before=in_a(hours=2), validate_only=True)
    no_zone = refusal(api, not_before="2027-01-01T00:00:00")

    errors = (too_far, too_late, no_plan, no_zone)
    assert {error["pointer"] for error in errors} == {"/not_before"}
    assert [error["code"] for error in errors[:3]] == ["out_of_range", "out_of_range", "not_supported"]


def test_a_job_that_waits_is_moved_and_let_go(api: ServedApi) -> None:
    job = api.submit(not_before=in_a(days=1))

    moved = patch(api, job, not_before=in_a(days=2), priority="low")
    let_go = patch(api, job, not_before=None)
    too_late = patch(api, job, not_before=in_a(days=3))

    assert (moved[0], moved[1]["request"]["priority"]) == (200, "low")
    assert datetime.fromisoformat(moved[1]["request"]["not_before"]) > datetime.now(UTC) + timedelta(days=1, hours=1)
    assert (let_go[0], let_go[1]["request"]["not_before"]) == (200, None)
    assert claim(api, CPU_QUEUE).lease.job == job_id(job)
    assert (too_late[0], too_late[1]["code"]) == (409, "state_conflict")


def test_a_line_of_a_batch_has_a_time_of_its_own(api: ServedApi) -> None:
    batch = post(api, lines(a_line("a", not_before=in_a(days=1)))).json()

    [line] = decode_shard(api.objects.get(batch_shard(LOCAL, job_id(batch), 0)))

    assert line.submission.not_before_ms is not None
    assert line.submission.not_before_ms / 1000 > datetime.now(UTC).timestamp() + 3600
