"""OpenAI's speech call: what its clients send and read, over the wire, and jobs behind it."""

from __future__ import annotations

import dataclasses
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from api.settings import ApiSettings
from rhapsode.contract.jobs.states import JobState
from storage.audio.wav import wav_header
from storage.jobs.record import ArtifactRecord, JobError
from storage.jobs.work_queues import CPU_QUEUE
from storage.objects.keys import artifact
from storage.queue.worker_slots import WorkerSlots
from storage.segments.results import SegmentReport
from tests.api.harness import GPU_QUEUE, SMALL, ServedApi, claim, commit, serve, start_job
from tests.threads import join_in_time
from tests.waiting import until

ORDER = {"model": "small", "input": "The wind and the sun were disputing.", "voice": "alice"}
PCM = bytes(range(256)) * 4


def speak_soon(api: ServedApi, flags: tuple[str, ...] = ()) -> None:
    """A worker's part: the only waiting job, with this audio as whatever it was to be."""
    commit(api, start_job(api, num_segments=1), flags)
    item = claim(api, CPU_QUEUE)
    [form] = item.narration.request.output.formats
    audio = wav_header(len(PCM) // 2, 24_000) + PCM if form.type == "wav" else PCM
    stored = api.objects.put(artifact(item.lease, f"narration.{form.type}"), audio)
    record = ArtifactRecord(f"narration.{form.type}", str(form.type), stored.key, stored.bytes, stored.sha256, 0.02)
    api.jobs.finish(item.lease, [record])


def the_job(api: ServedApi) -> dict[str, Any]:
    """The only one, once it is there."""
    until(lambda: api.http.get("/v1/jobs").json()["data"], "no job came")
    [job] = api.http.get("/v1/jobs").json()["data"]
    return job


def fail_soon(api: ServedApi) -> None:
    item = start_job(api, num_segments=1)
    api.jobs.fail(item.lease, JobError("segment_quality", "segment 0 failed its checks in every attempt", 0))


def answered(
    api: ServedApi, work: Callable[[ServedApi], None], headers: dict[str, Any] | None = None, **fields: object
) -> httpx.Response:
    """The answer to an order that a worker works on meanwhile."""

    def work_once_there() -> None:
        the_job(api)
        work(api)

    worker = threading.Thread(target=work_once_there)
    worker.start()
    try:
        return api.http.post("/v1/audio/speech", json={**ORDER, **fields}, headers=headers)
    finally:
        join_in_time(worker)


@pytest.mark.parametrize(
    ("form", "media_type", "content"),
    [
        ("mp3", "audio/mpeg", PCM),
        ("opus", "audio/ogg", PCM),
        ("aac", "audio/aac", PCM),
        ("flac", "audio/flac", PCM),
        ("wav", "audio/wav", wav_header(len(PCM) // 2, 24_000) + PCM),
        ("pcm", "audio/pcm", PCM),
    ],
)
def test_the_audio_is_the_answer(api: ServedApi, form: str, media_type: str, content: bytes) -> None:
    answer = answered(api, speak_soon, response_format=form, stream=False)

    assert (answer.status_code, answer.headers["content-type"], answer.content) == (200, media_type, content)
    assert int(answer.headers["content-length"]) == len(content)
    job = api.http.get(f"/v1/jobs/{answer.headers['x-job-id']}").json()
    assert (job["state"], job["request"]["priority"], job["request"]["voice"]) == ("succeeded", "high", "Alice")


def test_what_openais_own_client_sends_is_understood(api: ServedApi) -> None:
    headers = {"Accept": "application/octet-stream", "X-Stainless-Lang": "python", "X-Stainless-Retry-Count": "0"}

    answer = answered(api, speak_soon, headers, voice={"id": "Bob"}, speed=1.25)

    assert (answer.status_code, answer.headers["content-type"]) == (200, "audio/mpeg")
    job = api.http.get(f"/v1/jobs/{answer.headers['x-job-id']}").json()
    assert job["request"]["output"]["speed"] == 1.25


@pytest.mark.parametrize(
    ("change", "status", "param", "code"),
    [
        ({"input": ""}, 422, "input", "invalid_request"),
        ({"input": "a" * 4_097}, 413, "input", "payload_too_large"),
        ({"model": "tts-9"}, 404, "model", "model_not_available"),
        ({"voice": "nobody"}, 404, "voice", "voice_not_found"),
        ({"response_format": "m4b"}, 422, "response_format", "invalid_request"),
        ({"stream_format": "ogg"}, 422, "stream_format", "invalid_request"),
        ({"stream_format": "sse", "stream": False}, 422, None, "invalid_request"),
        ({"non_streaming_mode": False}, 422, None, "invalid_request"),
        ({"speaker": "bob"}, 422, None, "invalid_request"),
        ({"seed": -1}, 422, "seed", "invalid_request"),
        ({"top_k": 0}, 422, "top_k", "invalid_request"),
        ({"subtalker_top_p": 2}, 422, "subtalker_top_p", "invalid_request"),
        ({"do_sample": False, "temperature": 1}, 422, None, "invalid_request"),
        ({"max_new_tokens": 0}, 422, "max_new_tokens", "invalid_request"),
        ({"task_type": "Song"}, 422, "task_type", "invalid_request"),
        ({"task_type": "VoiceDesign"}, 422, "task_type", "invalid_request"),
        ({"task_type": "Base"}, 422, "task_type", "invalid_request"),
        ({"ref_audio": "https://example.com/a.wav"}, 422, "ref_audio", "invalid_request"),
        ({"voice": ""}, 422, "voice", "invalid_request"),
        ({"instructions": "Whisper.\x07"}, 422, "instructions", "invalid_request"),
        ({"language": "Klingon"}, 422, "language", "unsupported_language"),
        ({"reuse": "no"}, 422, "reuse", "invalid_request"),
        ({"reproducibility": "strict"}, 422, "reproducibility", "invalid_request"),
        ({"speed": 0.2}, 422, "speed", "invalid_request"),
        ({"speed": "1.0"}, 422, "speed", "invalid_request"),
    ],
)
def test_a_refusal_has_openais_shape(
    api: ServedApi, change: dict[str, Any], status: int, param: str | None, code: str
) -> None:
    answer = api.http.post("/v1/audio/speech", json=ORDER | change)

    assert answer.status_code == status
    error = answer.json()["error"]
    assert (error["param"], error["code"], error["type"]) == (param, code, "invalid_request_error")
    assert api.http.get("/v1/jobs").json()["data"] == []


BEYOND = [
    ({"speed": 0.25}, "speed (0.5 instead of 0.25)"),
    ({"speed": 4}, "speed (2 instead of 4)"),
    ({"instructions": "Whisper."}, "instructions"),
    ({"ref_text": "Hello."}, "ref_text"),
    ({"x_vector_only_mode": True}, "x_vector_only_mode"),
    ({"lang_code": "a"}, "lang_code"),
    ({"volume_multiplier": 1.5}, "volume_multiplier"),
    ({"pitch": None, "né\n,": {"deep": [1]}}, "pitch, n%C3%A9%0A%2C"),
]
"""Fields that other servers have, or other models, and what names them."""


@pytest.mark.parametrize(("change", "ignored"), BEYOND)
def test_what_is_unknown_or_beyond_the_model_is_named_and_the_text_is_spoken(
    api: ServedApi, change: dict[str, Any], ignored: str
) -> None:
    api.models.publish(dataclasses.replace(SMALL, accepts_instructions=False))
    key = {"Idempotency-Key": "beyond"}

    answer = answered(api, speak_soon, key, **change)
    again = api.http.post("/v1/audio/speech", json=ORDER | change, headers=key)

    assert (answer.status_code, answer.headers["x-ignored"]) == (200, ignored)
    assert (again.headers["x-ignored"], again.headers["idempotency-replayed"]) == (ignored, "true")
    request = api.http.get(f"/v1/jobs/{answer.headers['x-job-id']}").json()["request"]
    assert (request["instructions"], request["output"]["speed"] in (0.5, 1, 2)) == ("", True)


def test_what_is_done_as_asked_is_not_named(api: ServedApi) -> None:
    assert "x-ignored" not in answered(api, speak_soon, speed=2, seed=3).headers


def test_a_model_without_sampling_names_what_is_said_of_it(api: ServedApi) -> None:
    api.models.publish(dataclasses.replace(SMALL, has_sampling=False))

    answer = answered(api, speak_soon, temperature=0.5, top_p=0.9, seed=3)

    assert (answer.status_code, answer.headers["x-ignored"]) == (200, "seed, temperature, top_p")
    assert api.http.get(f"/v1/jobs/{answer.headers['x-job-id']}").json()["request"]["seed"] == 3


@pytest.fixture
def strict(api_settings: ApiSettings) -> Iterator[ServedApi]:
    with serve(api_settings.model_copy(update={"strict_speech": True})) as served:
        served.models.publish(dataclasses.replace(SMALL, accepts_instructions=False))
        yield served


def test_one_setting_refuses_what_is_unknown_or_beyond_the_model(strict: ServedApi) -> None:
    for change, ignored in BEYOND:
        answer = strict.http.post("/v1/audio/speech", json=ORDER | change)

        assert answer.status_code == 422, change
        assert answer.json()["error"]["param"] == re.split("[, ]", ignored)[0]
    assert strict.http.get("/v1/jobs").json()["data"] == []


@pytest.mark.parametrize(
    "sent", [{}, {"voice": None}, {"voice": "design"}, {"voice": "Auto"}, {"voice": {"id": "auto"}}]
)
def test_a_model_that_designs_its_voice_is_told_of_it_in_instructions(api: ServedApi, sent: dict[str, Any]) -> None:
    api.models.publish(dataclasses.replace(SMALL, name="design", task="voice_design", speakers=()))
    order = {"model": "design", "input": "Good evening.", "instructions": "An old man, hoarse and slow.", **sent}

    answer = api.http.post("/v1/audio/speech", json=order, headers={"Prefer": "respond-async"})

    request = answer.json()["request"]
    assert (answer.status_code, request["voice"]) == (202, "")
    assert request["instructions"] == "An old man, hoarse and slow."


def test_what_a_model_that_designs_its_voice_cannot_do_is_said(api: ServedApi) -> None:
    api.models.publish(dataclasses.replace(SMALL, name="design", task="voice_design", speakers=()))
    order = {"model": "design", "input": "Good evening."}

    def refused(**more: str) -> tuple[str, str]:
        error = api.http.post("/v1/audio/speech", json=order | more).json()["error"]
        return error["param"], error["message"]

    assert refused(voice="alice", instructions="An old man.")[0] == "voice"
    assert "'design'" in refused(voice="alice", instructions="An old man.")[1]
    assert refused(voice="design")[0] == "instructions"
    assert refused(task_type="CustomVoice")[0] == "task_type"


def test_a_text_that_is_too_long_to_wait_for_is_sent_to_jobs(api: ServedApi) -> None:
    answer = api.http.post("/v1/audio/speech", json=ORDER | {"input": "a" * 5_000})

    assert "/v1/jobs" in answer.json()["error"]["message"]


def test_strict_speech_is_asked_for_as_of_jobs(api: ServedApi) -> None:
    api.models.publish(dataclasses.replace(SMALL, is_strict=True))
    order = ORDER | {"reproducibility": "strict"}

    answer = api.http.post("/v1/audio/speech", json=order, headers={"Prefer": "respond-async"})

    assert answer.status_code == 202
    assert answer.json()["request"]["reproducibility"] == "strict"


def test_one_header_makes_it_a_job(api: ServedApi) -> None:
    answer = api.http.post("/v1/audio/speech", json=ORDER | {"reuse": False}, headers={"Prefer": "respond-async"})

    job = answer.json()
    assert job["request"]["reuse"] is False
    assert (answer.status_code, job["state"], job["queue"]["class"]) == (202, "pending", "interactive")
    assert answer.headers["location"] == job["links"]["self"]
    assert answer.headers["preference-applied"] == "respond-async"
    assert job["request"]["deadline"] is None


def test_the_same_header_takes_a_text_as_long_as_a_job_does(api: ServedApi) -> None:
    order = ORDER | {"input": "Down the road came a traveller. " * 1_250}

    answer = api.http.post("/v1/audio/speech", json=order, headers={"Prefer": "respond-async"})

    request = answer.json()["request"]
    assert (answer.status_code, request["priority"], request["retention_s"]) == (202, "normal", 7 * 86_400)


def test_speech_that_fails_says_why(api: ServedApi) -> None:
    answer = answered(api, fail_soon)

    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "segment_quality")
    assert answer.json()["error"]["type"] == "invalid_request_error"


def test_speech_that_was_kept_with_a_fault_names_what_was_found(api: ServedApi) -> None:
    passed = answered(api, speak_soon)
    api.http.delete(f"/v1/jobs/{passed.headers['x-job-id']}")

    flagged = answered(api, lambda served: speak_soon(served, flags=("too_long", "long_pause")))

    assert (passed.status_code, flagged.status_code) == (200, 200)
    assert "x-quality-findings" not in passed.headers
    assert flagged.headers["x-quality-findings"] == "too_long, long_pause"


def test_a_caller_who_goes_takes_the_job_along(api: ServedApi) -> None:
    with pytest.raises(httpx.ReadTimeout), httpx.Client(base_url=api.url) as http:
        http.post("/v1/audio/speech", json=ORDER, timeout=httpx.Timeout(20, read=1))

    job = the_job(api)
    ended = api.http.get(f"/v1/jobs/{job['id']}", headers={"Prefer": "wait=20"}).json()
    assert ended["state"] == JobState.CANCELLED


def test_a_caller_who_comes_back_under_a_key_hears_what_was_made_meanwhile(api: ServedApi) -> None:
    headers = {"Idempotency-Key": "fable-1"}
    with pytest.raises(httpx.ReadTimeout), httpx.Client(base_url=api.url) as http:
        http.post("/v1/audio/speech", json=ORDER, headers=headers, timeout=httpx.Timeout(20, read=1))

    first, again = (
        answered(api, speak_soon, headers),
        api.http.post("/v1/audio/speech", json=ORDER, headers=headers),
    )

    assert (first.status_code, again.status_code) == (200, 200)
    assert first.headers["x-job-id"] == again.headers["x-job-id"]
    assert again.headers["idempotency-replayed"] == "true"
    assert len(api.http.get("/v1/jobs").json()["data"]) == 1


def test_speech_that_cannot_be_soon_is_refused_at_once(api: ServedApi) -> None:
    """A fleet of one slot that was measured at a second of audio a minute."""
    WorkerSlots(api.redis).announce(GPU_QUEUE, "w", 1)
    api.submit()
    item = start_job(api)
    api.jobs.commit_segment(item.lease, SegmentReport(24_000, 24_000, 10, "0" * 64, "eos", 60_000))

    answer = api.http.post("/v1/audio/speech", json=ORDER)

    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "backlog_full")
    assert 1 <= int(answer.headers["retry-after"]) <= 300
    assert "/v1/jobs" in answer.json()["error"]["message"]
