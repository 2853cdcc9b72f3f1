"""Batches through the API: files in, counts and results out; every line checked before any is used."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from rhapsode.contract.jobs.states import JobState
from storage.errors import JobAborted
from storage.ids import JobId, TenantId
from storage.job_store.store import RECALL_STEP
from storage.jobs.batch_lines import decode_shard
from storage.jobs.record import ArtifactRecord
from storage.jobs.work_items import PlanResult
from storage.jobs.work_queues import CPU_QUEUE
from storage.objects.keys import artifact, batch_shard, plan
from storage.segments.results import SegmentReport
from tests.api.harness import GPU_QUEUE, ServedApi, claim

LINES = "application/jsonl"


def a_line(custom_id: str, text: str = "Good morning.", **more: object) -> dict[str, Any]:
    return {"custom_id": custom_id, "input": {"text": text}, **more}


def lines(*documents: dict[str, Any]) -> bytes:
    return "\n".join(json.dumps(document) for document in documents).encode()


def post(api: ServedApi, body: bytes, **headers: str) -> httpx.Response:
    return api.http.post("/v1/batches", content=body, headers={"Content-Type": LINES, **headers})


def make_jobs(api: ServedApi, batch: str, count: int) -> list[JobId]:
    """Play the worker that turns the only shard into jobs."""
    tenant = TenantId("local")
    item = claim(api, CPU_QUEUE)
    api.jobs.commit_plan(item.lease, PlanResult(item.input_key, 1, 0))
    shard = claim(api, CPU_QUEUE)
    made: list[JobId] = []
    for each in decode_shard(api.objects.get(batch_shard(tenant, JobId(batch), 0))):
        api.jobs.submit(each.submission)
        made.append(each.submission.id)
    api.jobs.commit_shard(shard.lease)
    assert len(made) == count
    return made


def plan_next(api: ServedApi) -> None:
    item = claim(api, CPU_QUEUE)
    api.jobs.commit_plan(item.lease, PlanResult(plan(item.lease), 1, 1_000))


def speak_next(api: ServedApi) -> None:
    """The only segment of a planned job, and its end."""
    spoken = claim(api, GPU_QUEUE)
    api.jobs.commit_segment(spoken.lease, SegmentReport(24_000, 24_000, 10, "0" * 64, "eos", 50))
    done = claim(api, CPU_QUEUE)
    stored = api.objects.put(artifact(done.lease, "narration.wav"), b"RIFF")
    api.jobs.finish(done.lease, [ArtifactRecord("narration.wav", "wav", stored.key, 4, stored.sha256, 1.0)])


def test_results_are_read_in_parts(api: ServedApi) -> None:
    batch = post(api, lines(*(a_line(f"c{number}") for number in range(120)))).json()

    def part(**params: int) -> list[str]:
        answer = api.http.get(batch["links"]["results"], params=params)
        return [json.loads(line)["custom_id"] for line in answer.text.splitlines()]

    names = [f"c{number}" for number in range(120)]
    assert part() == names
    assert part(offset=49, limit=3) == names[49:52]
    assert part(offset=100) == names[100:]
    assert part(offset=50, limit=50) == names[50:100]
    assert part(offset=120) == []
    assert api.http.get(batch["links"]["results"], params={"offset": -1}).status_code == 422


def test_a_file_that_arrived_otherwise_is_refused(api: ServedApi) -> None:
    content = lines(a_line("a"))
    place = api.http.post("/v1/uploads", json={"bytes": len(content)}).json()
    assert httpx.put(place["url"], content=content, headers=place["headers"]).is_success

    answer = api.http.post("/v1/batches", json={"upload_id": place["id"], "sha256": "0" * 64})

    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/sha256")
    assert api.http.get("/v1/batches").json()["data"] == []


def test_lines_become_jobs_and_their_results_lines(api: ServedApi) -> None:
    answer = post(api, lines(a_line("a", voice="Bob"), a_line("b", "Good night.", seed=7)))
    assert answer.status_code == 202, answer.text
    batch = answer.json()
    assert answer.headers["location"] == batch["links"]["self"]
    assert (batch["state"], batch["counts"]["total"], batch["counts"]["made"]) == ("pending", 2, 0)

    jobs = make_jobs(api, batch["id"], 2)
    listed = api.http.get(batch["links"]["jobs"]).json()["data"]
    assert {job["id"] for job in listed} == set(jobs)
    assert {job["batch_id"] for job in listed} == {batch["id"]}
    plan_next(api)
    plan_next(api)
    speak_next(api)
    half = [json.loads(line) for line in api.http.get(batch["links"]["results"]).text.splitlines()]
    speak_next(api)

    assert [(row["custom_id"], row["line"]) for row in half] == [("a", 1), ("b", 2)]
    assert sorted(row["state"] for row in half) == ["running", "succeeded"]
    ended = api.http.get(batch["links"]["self"]).json()
    assert (ended["state"], ended["counts"]["succeeded"], ended["counts"]["made"]) == ("succeeded", 2, 2)
    rows = [json.loads(line) for line in api.http.get(batch["links"]["results"]).text.splitlines()]
    assert [row["artifacts"][0]["name"] for row in rows] == ["narration.wav"] * 2
    assert httpx.get(rows[0]["artifacts"][0]["url"]).content == b"RIFF"
    assert api.jobs.audit_counters() == ()


def test_a_file_comes_from_an_upload_too(api: ServedApi) -> None:
    content = lines(*(a_line(f"clip {n}") for n in range(120)))
    place = api.http.post("/v1/uploads", json={"bytes": len(content)}).json()
    httpx.put(place["url"], content=content)

    batch = api.http.post("/v1/batches", json={"upload_id": place["id"], "metadata": {"book": "7"}}).json()

    assert (batch["counts"]["total"], batch["metadata"]) == (120, {"book": "7"})
    assert [each["id"] for each in api.http.get("/v1/batches").json()["data"]] == [batch["id"]]
    assert api.http.get("/v1/jobs").json()["data"] == []


@pytest.mark.parametrize(
    ("body", "complaints"),
    [
        (b"", ["has no line"]),
        (b"\n\n", ["has no line"]),
        (b"not json", ["line 1: the body is not JSON"]),
        (b"[1]", ["line 1: must be a JSON object"]),
        (lines({"input": {"text": "x y"}}), ["line 1: /custom_id: "]),
        (lines(a_line("a"), a_line("a")), ["line 2: /custom_id: line 1 has it already"]),
        (lines(a_line("a", voice="nobody"), a_line("b", tempo=2)), ["line 1: /voice: ", "line 2: /tempo: "]),
        (lines(a_line("a", " ")), ["line 1: /input/text: "]),
        (
            lines(
                {"custom_id": "a", "input": {"text": "x y", "lines": {"A": ["0a0b0c0d"]}}, "speakers": {"A": "alice"}}
            ),
            ["line 1: /input/lines: is not taken in a batch"],
        ),
        (lines(a_line("a", validate_only=True)), ["line 1: /validate_only: is not taken in a batch"]),
        (lines(a_line("a", webhook={"url": "https://x.example"})), ["line 1: /webhook: is not taken"]),
        (lines(a_line("a", metadata={"custom_id": "z"})), ["line 1: /metadata/custom_id: "]),
    ],
)
def test_a_file_with_a_bad_line_is_refused_whole_and_by_its_lines(
    api: ServedApi, body: bytes, complaints: list[str]
) -> None:
    answer = post(api, body)

    assert answer.status_code == 422, answer.text
    details = [each["detail"] for each in answer.json()["errors"]]
    assert len(details) == len(complaints)
    assert all(complaint in detail for complaint, detail in zip(complaints, details, strict=True))
    assert api.traces() == ([], [])


def test_a_media_type_that_holds_no_lines_is_refused(api: ServedApi) -> None:
    answer = api.http.post("/v1/batches", content=b"a,b", headers={"Content-Type": "text/csv"})

    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media")


def test_a_repeated_batch_is_one(api: ServedApi) -> None:
    body = lines(a_line("a"))

    first, second = (post(api, body, **{"Idempotency-Key": "k"}) for _ in range(2))

    assert first.json()["id"] == second.json()["id"]
    assert second.headers["idempotency-replayed"] == "true"
    assert post(api, lines(a_line("b")), **{"Idempotency-Key": "k"}).status_code == 422


def test_a_cancelled_batch_cancels_its_jobs(api: ServedApi) -> None:
    batch = post(api, lines(a_line("a"), a_line("b"))).json()
    jobs = make_jobs(api, batch["id"], 2)

    cancelled = api.http.post(batch["links"]["cancel"])

    assert (cancelled.status_code, cancelled.json()["state"]) == (202, "cancelled")
    assert {api.http.get(f"/v1/jobs/{job}").json()["state"] for job in jobs} == {"cancelled"}
    assert api.http.post(batch["links"]["cancel"]).json()["counts"]["cancelled"] == 2
    assert api.http.delete(batch["links"]["self"]).status_code == 204
    assert api.http.get(batch["links"]["self"]).status_code == 410


def test_a_batch_is_no_job_and_a_job_is_no_batch(api: ServedApi) -> None:
    batch, job = post(api, lines(a_line("a"))).json(), api.submit()

    assert api.http.get(f"/v1/jobs/{batch['id']}").status_code == 404
    assert api.http.get(f"/v1/batches/{job['id']}").status_code == 404
    assert api.http.get("/v1/jobs", params={"batch_id": "bat_" + "0" * 26}).status_code == 404
    assert api.http.get("/v1/jobs", params={"batch_id": "nonsense"}).status_code == 422


def cancelled_jobs(api: ServedApi, jobs: list[JobId]) -> int:
    return sum(
        record is not None and record.state is JobState.CANCELLED
        for record in api.jobs.get_many(TenantId("local"), jobs)
    )


def test_a_large_batch_is_cancelled_behind_its_answer(api: ServedApi) -> None:
    """By the worker that comes: the API may be gone by then."""
    num_lines = 2 * RECALL_STEP + 5
    batch = post(api, lines(*(a_line(f"c{number}") for number in range(num_lines)))).json()
    jobs = make_jobs(api, batch["id"], num_lines)

    def shown(answer: httpx.Response) -> tuple[str, int]:
        return answer.json()["state"], answer.json()["counts"]["cancelled"]

    first = api.http.post(batch["links"]["cancel"])
    assert (first.status_code, *shown(first)) == (202, "cancelling", RECALL_STEP)
    assert api.http.delete(batch["links"]["self"]).status_code == 409
    # Asked again it goes on where it was.
    assert shown(api.http.post(batch["links"]["cancel"])) == ("cancelling", 2 * RECALL_STEP)
    assert cancelled_jobs(api, jobs) == 2 * RECALL_STEP
    assert api.jobs.batches_to_recall() == [batch["id"]]
    assert api.jobs.recall(JobId(batch["id"]))[0] is False

    assert shown(api.http.get(batch["links"]["self"])) == ("cancelled", num_lines)
    assert cancelled_jobs(api, jobs) == num_lines
    assert api.jobs.batches_to_recall() == []
    assert api.jobs.audit_counters() == ()
    assert shown(api.http.post(batch["links"]["cancel"])) == ("cancelled", num_lines)
    assert api.http.delete(batch["links"]["self"]).status_code == 204


def test_a_cancelled_batch_waits_for_a_job_that_a_worker_holds(api: ServedApi) -> None:
    batch = post(api, lines(a_line("a"), a_line("b"))).json()
    make_jobs(api, batch["id"], 2)
    held = claim(api, CPU_QUEUE)

    assert api.http.post(batch["links"]["cancel"]).json()["state"] == "cancelling"
    assert api.http.get(batch["links"]["self"]).json()["counts"]["cancelled"] == 1
    with pytest.raises(JobAborted):
        api.jobs.commit_plan(held.lease, PlanResult(plan(held.lease), 1, 1_000))

    ended = api.http.get(batch["links"]["self"]).json()
    assert (ended["state"], ended["counts"]["cancelled"]) == ("cancelled", 2)
    assert api.jobs.audit_counters() == ()
