"""Several texts in one call: each is answered for itself."""

from __future__ import annotations

import base64
import threading

import httpx
import pytest

from rhapsode.contract.jobs.states import JobState
from storage.audio.wav import wav_header
from storage.jobs.record import ArtifactRecord, JobError
from storage.jobs.work_items import PlanResult
from storage.jobs.work_queues import CPU_QUEUE
from storage.objects.keys import artifact, plan
from tests.api.harness import GPU_QUEUE, ServedApi, claim, commit
from tests.threads import join_in_time
from tests.waiting import until

PCM = bytes(range(256)) * 4


def _jobs(api: ServedApi, count: int) -> None:
    until(lambda: len(api.http.get("/v1/jobs").json()["data"]) >= count, "the jobs did not come")


def _work(api: ServedApi, count: int, passing: int) -> None:
    """A worker's part: all jobs are spoken but the one that does not pass."""
    _jobs(api, count)
    for _ in range(count):
        item = claim(api, CPU_QUEUE)
        api.jobs.commit_plan(item.lease, PlanResult(plan(item.lease), 1, 3_000))
    spoken = [claim(api, GPU_QUEUE) for _ in range(count)]
    for item in spoken:
        if b"not pass" in api.objects.get(item.input_key):
            api.jobs.fail(item.lease, JobError("segment_quality", "segment 0 failed its checks in every attempt", 0))
        else:
            commit(api, item)
    for _ in range(passing):
        item = claim(api, CPU_QUEUE)
        [form] = item.narration.request.output.formats
        audio = wav_header(len(PCM) // 2, 24_000) + PCM
        stored = api.objects.put(artifact(item.lease, f"narration.{form.type}"), audio)
        record = ArtifactRecord(f"narration.{form.type}", str(form.type), stored.key, stored.bytes, stored.sha256, 0.02)
        api.jobs.finish(item.lease, [record])


def test_each_text_has_its_own_answer(api: ServedApi) -> None:
    items = [
        {"input": "Hello.", "lang_code": "a"},
        {"input": "Goodbye.", "response_format": "pcm", "speaker": "bob", "temperature": 0.5},
        {"input": "Nobody says this.", "voice": "nobody"},
        {"input": "This does not pass."},
    ]
    worker = threading.Thread(target=_work, args=(api, 3, 2))
    worker.start()

    answer = api.http.post("/v1/audio/speech/batch", json={"model": "tts-1", "voice": "alice", "items": items})
    join_in_time(worker)

    assert answer.status_code == 200, answer.text
    told = answer.json()
    first, second, third, fourth = told["results"]
    assert (first["ignored"], "ignored" in second) == ("lang_code", False)
    assert (told["total"], told["succeeded"], told["failed"]) == (4, 2, 2)
    assert base64.b64decode(first["audio_data"]) == wav_header(len(PCM) // 2, 24_000) + PCM
    assert (first["status"], first["media_type"], first["usage"]["input_chars"]) == ("success", "audio/wav", 6)
    assert (second["media_type"], base64.b64decode(second["audio_data"])) == ("audio/pcm", PCM)
    assert (third["status"], third["code"]) == ("error", "voice_not_found")
    assert (fourth["status"], fourth["code"], fourth["index"]) == ("error", "segment_quality", 3)
    spoken = [api.http.get(f"/v1/jobs/{each['job_id']}").json()["request"] for each in (first, second)]
    assert [request["voice"] for request in spoken] == ["Alice", "Bob"]
    assert [request["sampling"]["temperature"] for request in spoken] == [None, 0.5]


def test_a_text_without_a_letter_is_a_silence_among_the_others(api: ServedApi) -> None:
    items = [{"input": "..."}, {"input": "🙂", "response_format": "pcm", "né": 1}]

    answer = api.http.post("/v1/audio/speech/batch", json={"model": "tts-1", "voice": "alice", "items": items})

    results = answer.json()["results"]
    assert [(each["status"], each["ignored"]) for each in results] == [
        ("success", "input"),
        ("success", "input, n%C3%A9"),
    ]
    assert base64.b64decode(results[1]["audio_data"]) == bytes(2 * 24_000 // 5)
    assert (results[1]["media_type"], results[1]["usage"]["input_chars"]) == ("audio/pcm", 0)
    assert api.http.get("/v1/jobs").json()["data"] == []


def test_markdown_is_read_in_a_batch_as_in_a_call(api: ServedApi) -> None:
    items = [{"input": "# One"}, {"input": "# Two", "input_format": "plain"}, {"input": "- Three"}]
    worker = threading.Thread(target=_work, args=(api, 3, 3))
    worker.start()

    body = {"voice": "alice", "input_format": "markdown", "items": items}
    results = api.http.post("/v1/audio/speech/batch", json=body).json()["results"]
    join_in_time(worker)

    assert [each["usage"]["input_chars"] for each in results] == [len("One"), len("# Two"), len("Three")]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"items": []}, 422),
        ({"items": [{"input": "Hello."}] * 33}, 422),
        ({"items": [{"input": "a " * 2_000}] * 5}, 413),
        ({"items": [{"input": "Hello."}], "speed": "fast"}, 422),
        ({"items": {"input": "Hello."}}, 422),
        ({}, 422),
    ],
)
def test_what_is_no_batch_is_refused_whole(api: ServedApi, body: dict[str, object], status: int) -> None:
    assert api.http.post("/v1/audio/speech/batch", json=body).status_code == status
    assert api.http.get("/v1/jobs").json()["data"] == []


def test_an_item_that_is_no_order_fails_alone(api: ServedApi) -> None:
    wrong: list[tuple[object, str]] = [
        ({"input": 7}, "invalid_request"),
        ("Hello.", "invalid_request"),
        ({}, "invalid_request"),
        ({"input": "Hello.", "temperature": 0.5}, "invalid_request"),
        ({"input": "a " * 2_048 + "b"}, "payload_too_large"),
    ]
    items = [*(item for item, _ in wrong), {"input": "Hello.", "do_sample": True}]
    worker = threading.Thread(target=_work, args=(api, 1, 1))
    worker.start()

    answer = api.http.post("/v1/audio/speech/batch", json={"voice": "alice", "do_sample": False, "items": items})
    join_in_time(worker)

    assert answer.status_code == 200, answer.text
    *failed, spoken = answer.json()["results"]
    assert [(each["status"], each["code"]) for each in failed] == [("error", code) for _, code in wrong]
    assert (spoken["status"], spoken["index"]) == ("success", len(wrong))


def test_a_caller_who_goes_takes_all_along(api: ServedApi) -> None:
    body = {"items": [{"input": "Hello."}, {"input": "Goodbye."}]}
    with pytest.raises(httpx.ReadTimeout), httpx.Client(base_url=api.url) as http:
        http.post("/v1/audio/speech/batch", json=body, timeout=httpx.Timeout(20, read=2))

    for job in api.http.get("/v1/jobs").json()["data"]:
        ended = api.http.get(f"/v1/jobs/{job['id']}", headers={"Prefer": "wait=20"}).json()
        assert ended["state"] == JobState.CANCELLED
