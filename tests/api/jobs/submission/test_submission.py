"""POST /v1/jobs: what is accepted, and how it is answered."""

from __future__ import annotations

import dataclasses
import json
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
import redis

from api.settings import ApiSettings
from reading.plan.plan import CLOSING_MARK_BYTES
from storage.database.embedded_valkey import EmbeddedRedis
from storage.ids import TenantId, WorkQueue
from storage.jobs.work_queues import CPU_QUEUE
from storage.narration.spec import NarrationSpec
from storage.objects.keys import input_text
from storage.queue.celery_queue import TicketQueue, create_celery
from storage.queue.model_registry import AWAY_MS, ModelCard
from tests.api.harness import SMALL, ServedApi, finish_job, job_id, serve
from tests.settings import api_settings_of
from tests.threads import BoundedExecutor
from tests.waiting import until

LOCAL = TenantId("local")


def test_a_text_becomes_a_pending_job_with_its_address(api: ServedApi) -> None:
    answer = api.http.post("/v1/jobs", json={"input": {"text": "Good morning."}})

    job = answer.json()
    assert answer.status_code == 202
    assert job["state"] == "pending"
    assert answer.headers["location"] == job["links"]["self"] == f"{api.url}/v1/jobs/{job['id']}"
    assert int(answer.headers["retry-after"]) >= 1
    assert api.http.get(answer.headers["location"]).json()["id"] == job["id"]


def test_the_text_lies_in_the_store_as_it_was_sent(api: ServedApi) -> None:
    job = api.submit("Caf\u00e9 \u2014 \U0001f600 ok")

    assert api.objects.get(input_text(LOCAL, job_id(job))).decode() == "Caf\u00e9 \u2014 \U0001f600 ok"
    assert job["usage"]["input_chars"] == 11


def test_a_ticket_for_the_plan_is_sent(api_settings: ApiSettings) -> None:
    with serve(api_settings) as api:
        api.models.publish(SMALL)
        api.submit()

    queue = TicketQueue(create_celery(api_settings, "test"))
    assert queue.waiting(CPU_QUEUE) == 1
    queue.close()


def test_defaults_are_filled_in_and_told(api: ServedApi) -> None:
    request = api.submit()["request"]

    assert (request["model"], request["voice"], request["language"]) == ("small", "Alice", "auto")
    assert request["segmentation"] == {"mode": "packed", "target_chars": 220, "max_chars": 400, "min_chars": 0}
    assert request["pauses"] == {
        "sentence_s": 0.45,
        "paragraph_s": 0.8,
        "heading_s": 0.9,
        "chapter_s": 2.0,
        "line_s": 0.35,
        "cut_s": 0.12,
        "inside": "spoken",
    }
    assert request["sampling"] == dict.fromkeys(
        (
            *("temperature", "top_p", "top_k", "repetition_penalty", "do_sample", "max_new_tokens"),
            *("subtalker_temperature", "subtalker_top_k", "subtalker_top_p"),
        )
    )
    assert request["priority"] == "normal"
    assert request["reuse"] is True
    assert request["retention_s"] == 604_800


def test_a_seed_is_drawn_and_told_when_none_is_given(api: ServedApi) -> None:
    seeds = {api.submit()["request"]["seed"] for _ in range(3)}

    assert len(seeds) == 3
    assert api.submit(seed=7)["request"]["seed"] == 7


def test_everything_that_was_asked_for_reaches_the_worker(api: ServedApi) -> None:
    deadline = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=1)
    job = api.submit(
        model="small",
        voice="bob",
        language="german",
        instructions="Slowly.",
        segmentation={"target_chars": 100, "max_chars": 200, "min_chars": 3},
        pauses={"sentence_s": 0, "paragraph_s": 2},
        sampling={"temperature": 0, "top_p": 0.5, "top_k": 5, "repetition_penalty": 1.1},
        seed=9,
        reuse=False,
        output={"formats": [{"type": "wav"}]},
        priority="low",
        deadline=deadline.isoformat(),
        retention_s=3600,
        metadata={"book": "42"},
    )

    record = api.jobs.get(LOCAL, job_id(job))
    spec = record.spec
    assert isinstance(spec, NarrationSpec)
    assert (spec.request.voice, spec.request.language, spec.request.instructions, spec.request.seed) == (
        "Bob",
        "German",
        "Slowly.",
        9,
    )
    assert dataclasses.astuple(spec.segmentation) == (
        100,
        200,
        SMALL.max_text_tokens - 2 - CLOSING_MARK_BYTES,
        3,
        0,
        "packed",
    )
    assert (spec.request.reuse, job["request"]["reuse"]) == (False, False)
    assert tuple(spec.request.pauses.model_dump().values()) == (0, 2, 0.9, 2.0, 0.35, 0.12, "spoken")
    assert spec.request.sampling.model_dump() == {
        "temperature": 0,
        "top_p": 0.5,
        "top_k": 5,
        "repetition_penalty": 1.1,
        "do_sample": None,
        "max_new_tokens": None,
        "subtalker_temperature": None,
        "subtalker_top_k": None,
        "subtalker_top_p": None,
    }
    assert (record.priority, record.retention_s, record.metadata) == ("low", 3600, {"book": "42"})
    assert record.deadline_ms == deadline.timestamp() * 1000
    assert job["request"]["deadline"] == deadline.isoformat().replace("+00:00", "Z")


def test_sentences_are_spoken_alone_where_the_model_wants_it_and_no_target_is_named(api: ServedApi) -> None:
    api.models.publish(dataclasses.replace(SMALL, name="alone", segmentation="sentence"))
    shown = {each["name"]: each["segmentation"] for each in api.http.get("/v1/models").json()["data"]}

    def modes(**asked: object) -> list[str]:
        jobs = [api.submit(model=model, segmentation=asked) for model in ("alone", "small")]
        return [job["request"]["segmentation"]["mode"] for job in jobs]

    assert shown == {"alone": "sentence", "small": "packed"}
    assert modes() == ["sentence", "packed"]
    assert modes(mode="sentence", target_chars=90) == ["sentence", "sentence"]
    assert modes(target_chars=90) == ["packed", "packed"]


def test_the_first_segment_is_short_unless_the_request_says_how_long_segments_are(api: ServedApi) -> None:
    for asked, opening in (({}, 90), ({"min_chars": 5}, 90), ({"target_chars": 220}, 0)):
        spec = api.jobs.get(LOCAL, job_id(api.submit(segmentation=asked))).spec
        assert isinstance(spec, NarrationSpec)
        assert spec.segmentation.opening_chars == opening


def test_without_a_model_the_last_one_seen_is_taken(api: ServedApi) -> None:
    time.sleep(0.002)
    api.models.publish(dataclasses.replace(SMALL, name="another"))

    assert api.submit()["request"]["model"] == "another"
    assert api.submit(model="small")["request"]["model"] == "small"


def test_a_model_that_designs_its_voice_needs_a_description_and_no_name(api: ServedApi) -> None:
    api.models.publish(dataclasses.replace(SMALL, name="design", task="voice_design", speakers=()))

    def ask(**fields: object) -> httpx.Response:
        return api.http.post("/v1/jobs", json={"input": {"text": "Hello."}, "model": "design", **fields})

    assert ask().json()["errors"][0]["pointer"] == "/instructions"
    assert ask(voice="Alice", instructions="An old man.").json()["errors"][0]["pointer"] == "/voice"
    assert ask(instructions="An old man.").json()["request"]["instructions"] == "An old man."


def test_instructions_for_a_model_that_takes_none_are_refused(api: ServedApi) -> None:
    api.models.publish(dataclasses.replace(SMALL, name="plain", accepts_instructions=False))

    body = {"input": {"text": "Hello."}, "model": "plain", "instructions": "Whisper."}
    answer = api.http.post("/v1/jobs", json=body)

    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (422, "invalid_request")
    assert (problem["errors"][0]["pointer"], problem["errors"][0]["code"]) == ("/instructions", "not_supported")
    assert "plain" in problem["detail"]
    assert api.submit(model="plain", instructions="  ")["request"]["instructions"] == ""


def test_instructions_leave_half_of_a_model_s_room_to_the_text(api: ServedApi) -> None:
    api.models.publish(dataclasses.replace(SMALL, name="narrow", max_text_tokens=101))

    longest = api.submit(model="narrow", instructions="ร" * 66 + "ab")
    body = {"input": {"text": "Hello."}, "model": "narrow", "instructions": "ร" * 67}
    answer = api.http.post("/v1/jobs", json=body)

    spec = api.jobs.get(LOCAL, job_id(longest)).spec
    assert isinstance(spec, NarrationSpec)
    assert spec.segmentation.max_bytes == 51 - CLOSING_MARK_BYTES
    error = answer.json()["errors"][0]
    assert (answer.status_code, error["pointer"], error["code"]) == (422, "/instructions", "too_long")
    assert error["detail"] == "narrow takes at most 200 bytes of instructions in UTF-8, not 201"


def test_no_segment_is_longer_than_the_model_s_texts(api: ServedApi) -> None:
    api.models.publish(dataclasses.replace(SMALL, name="brief", max_text_chars=150))

    def resolved(**segmentation: int) -> tuple[int, int, int, int]:
        job = api.submit(model="brief", segmentation=segmentation)
        spec = api.jobs.get(LOCAL, job_id(job)).spec
        assert isinstance(spec, NarrationSpec)
        shown, held = job["request"]["segmentation"], spec.segmentation
        assert (shown["target_chars"], shown["max_chars"]) == (held.target_chars, held.max_chars)
        return held.target_chars, held.max_chars, held.min_chars, spec.bounds.asked_chars

    assert resolved() == (150, 150, 0, 0)
    assert resolved(max_chars=150, target_chars=90) == (90, 150, 0, 0)
    assert resolved(max_chars=900) == (150, 150, 0, 900)
    assert resolved(target_chars=200, min_chars=200) == (150, 150, 150, 200)
    assert api.http.get("/v1/models/brief").json()["max_text_chars"] == 150


def test_a_model_whose_workers_left_is_refused_while_others_serve(api: ServedApi) -> None:
    now_ms = int(time.time() * 1000)
    _announced(api, dataclasses.replace(SMALL, name="gone", updated_at_ms=now_ms - AWAY_MS - 10_000))

    answer = api.http.post("/v1/jobs", json={"input": {"text": "Hello."}, "model": "gone"})

    problem = answer.json()
    assert (answer.status_code, problem["code"], problem["retryable"]) == (503, "model_not_available", True)
    assert problem["detail"].endswith("+00:00; served now: small")
    assert int(answer.headers["retry-after"]) >= 1
    assert api.submit()["request"]["model"] == "small"
    listed = api.http.get("/v1/models").json()["data"]
    assert {model["name"]: model["available"] for model in listed} == {"gone": False, "small": True}


def test_a_sole_model_whose_workers_are_away_is_waited_for(api: ServedApi) -> None:
    _announced(api, dataclasses.replace(SMALL, updated_at_ms=1))

    assert api.submit(model="small")["request"]["model"] == "small"


def _announced(api: ServedApi, card: ModelCard) -> None:
    """At the time that the card says."""
    api.redis.hset("rhapsode:models", card.name, json.dumps(dataclasses.asdict(card)))


def test_a_model_without_a_voice_is_refused(api: ServedApi) -> None:
    api.models.publish(dataclasses.replace(SMALL, name="base", task="base", speakers=()))

    answer = api.http.post("/v1/jobs", json={"input": {"text": "Hello."}, "model": "base"})

    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (422, "no_voice")


def test_before_any_worker_came_the_answer_is_to_try_again(api_settings: ApiSettings) -> None:
    with serve(api_settings) as api:
        answer = api.http.post("/v1/jobs", json={"input": {"text": "Hello."}})

        assert (answer.status_code, answer.json()["code"]) == (503, "model_not_available")
        assert answer.json()["retryable"]
        assert answer.headers["retry-after"] == "5"
        assert api.traces() == ([], [])


def test_the_same_key_and_body_gives_the_first_job_again(api: ServedApi) -> None:
    body = {"input": {"text": "Once."}}
    first = api.http.post("/v1/jobs", json=body, headers={"Idempotency-Key": "k"})
    finish_job(api)

    again = api.http.post("/v1/jobs", json=body, headers={"Idempotency-Key": "k"})

    assert "idempotency-replayed" not in first.headers
    assert again.status_code == 202
    assert again.headers["idempotency-replayed"] == "true"
    assert (again.json()["id"], again.json()["state"]) == (first.json()["id"], "succeeded")


def test_a_replay_does_not_depend_on_what_is_possible_today(api: ServedApi, monkeypatch: pytest.MonkeyPatch) -> None:
    body = {"input": {"text": "Once."}, "deadline": (datetime.now(UTC) + timedelta(hours=1)).isoformat()}
    first = api.http.post("/v1/jobs", json=body, headers={"Idempotency-Key": "k"})
    two_hours_later_s = time.time() + 7200
    monkeypatch.setattr("api.acceptance.deadlines.time", SimpleNamespace(time=lambda: two_hours_later_s))
    anew = api.http.post("/v1/jobs", json=body, headers={"Idempotency-Key": "another"})
    assert anew.json()["errors"][0]["code"] == "in_the_past"
    api.redis.hdel("rhapsode:models", "small")

    again = api.http.post("/v1/jobs", json=body, headers={"Idempotency-Key": "k"})

    assert again.json()["id"] == first.json()["id"]


def test_the_same_key_with_another_body_is_a_mismatch(api: ServedApi) -> None:
    headers = {"Idempotency-Key": "k"}
    api.http.post("/v1/jobs", json={"input": {"text": "One."}}, headers=headers)
    before = api.traces()

    answer = api.http.post("/v1/jobs", json={"input": {"text": "Two."}}, headers=headers)

    assert (answer.status_code, answer.json()["code"]) == (422, "idempotency_mismatch")
    assert api.traces() == before


def test_five_posts_at_once_under_one_key_make_one_job(api: ServedApi) -> None:
    def post(_: int) -> httpx.Response:
        return httpx.post(
            f"{api.url}/v1/jobs", json={"input": {"text": "Once."}}, headers={"Idempotency-Key": "k"}, timeout=30
        )

    with BoundedExecutor(5) as pool:
        answers = list(pool.map(post, range(5)))

    assert {answer.status_code for answer in answers} == {202}
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert sum("idempotency-replayed" in answer.headers for answer in answers) == 4
    assert len(api.traces()[1]) == 1


def test_a_key_whose_job_was_deleted_is_gone(api: ServedApi) -> None:
    def post() -> httpx.Response:
        return api.http.post("/v1/jobs", json={"input": {"text": "Once."}}, headers={"Idempotency-Key": "k"})

    job = post().json()
    finish_job(api)
    api.http.delete(job["links"]["self"])

    assert (post().status_code, post().json()["code"]) == (410, "gone")


def test_a_full_backlog_refuses_and_leaves_nothing(api: ServedApi) -> None:
    api.redis.hset("{rhapsode}:total", "jobs", "100000")
    before = api.traces()

    answer = api.http.post("/v1/jobs", json={"input": {"text": "Hello."}}, headers={"Idempotency-Key": "k"})

    assert (answer.status_code, answer.json()["code"]) == (503, "backlog_full")
    assert answer.json()["retryable"]
    assert 1 <= int(answer.headers["retry-after"]) <= 300
    assert api.traces() == before


def test_a_tenant_at_its_limit_is_told_so(api: ServedApi) -> None:
    api.redis.hset("{rhapsode}:admission:local", "jobs", "10000")

    answer = api.http.post("/v1/jobs", json={"input": {"text": "Hello."}})

    assert (answer.status_code, answer.json()["code"]) == (429, "quota_exceeded")
    assert 1 <= int(answer.headers["retry-after"]) <= 300


def test_a_broker_that_does_not_answer_fails_no_submission(api_settings: ApiSettings) -> None:
    settings = api_settings_of(api_settings, broker_url="redis://127.0.0.1:1/1")
    with serve(settings) as api:
        api.models.publish(SMALL)

        assert api.submit()["state"] == "pending"


def test_without_redis_nothing_is_accepted(api_settings: ApiSettings) -> None:
    nowhere = api_settings_of(api_settings, redis_url="redis://127.0.0.1:1/0", broker_url="redis://127.0.0.1:1/1")
    with serve(nowhere) as api:
        answer = api.http.post("/v1/jobs", json={"input": {"text": "Hello."}})
        objects = list(api.objects.list(""))

    assert (answer.status_code, answer.json()["code"]) == (503, "storage_unavailable")
    assert answer.json()["retryable"]
    assert int(answer.headers["retry-after"]) >= 1
    assert objects == []


@pytest.mark.usefixtures("full_store")
def test_a_full_disk_refuses_and_leaves_nothing(api_settings: ApiSettings, redis_client: redis.Redis) -> None:
    with serve(api_settings) as api:
        api.models.publish(SMALL)

        answer = api.http.post("/v1/jobs", json={"input": {"text": "Hello."}})

        assert (answer.status_code, answer.json()["code"]) == (503, "storage_unavailable")
        assert answer.json()["detail"].startswith("the object store is full: ")
        assert answer.json()["detail"].endswith(f"{10**12} MiB must stay free; nothing is lost, try again")
        assert api.traces() == ([], [])


def test_links_lead_where_the_public_address_says(api_settings: ApiSettings) -> None:
    with serve(api_settings_of(api_settings, public_url="https://tts.example/api/")) as api:
        api.models.publish(SMALL)

        assert api.submit()["links"]["self"].startswith("https://tts.example/api/v1/jobs/job_")


def test_a_text_of_more_than_250_hours_is_refused_at_once(api_settings: ApiSettings, redis_client: redis.Redis) -> None:
    with serve(api_settings) as api:
        api.models.publish(SMALL)

        answer = api.http.post("/v1/jobs", json={"input": {"text": "字" * 4_210_000}})

        assert (answer.status_code, answer.json()["code"]) == (422, "text_too_long")
        assert answer.json()["errors"][0]["pointer"] == "/input"
        assert "250.6 hours" in answer.json()["detail"]
        assert api.traces() == ([], [])


def test_words_for_numbers_take_the_only_language_there_is(api: ServedApi) -> None:
    api.models.publish(dataclasses.replace(SMALL, name="one", languages=("German",)))

    assert api.submit(model="one", normalization="basic")["request"]["language"] == "German"
    assert api.submit(model="one")["request"]["language"] == "auto"


def test_numbers_are_written_out_for_a_model_that_learned_them_so(api: ServedApi) -> None:
    languages = ("German", "Klingon")
    api.models.publish(dataclasses.replace(SMALL, name="reads words", text_front_end="words", languages=languages))

    request = {"model": "reads words", "voice": "Alice"}
    asked = [{"language": "german"}, {"language": "klingon"}, {"language": "german", "normalization": "off"}]
    found = [api.submit(**request, **each)["request"]["normalization"] for each in asked]

    assert found == ["basic", "off", "off"]


def test_named_english_becomes_words_for_a_model_that_reads_digits(api: ServedApi) -> None:
    api.models.publish(dataclasses.replace(SMALL, name="reads digits", languages=("English", "German")))

    asked = [{"language": "English"}, {"language": "en-GB"}, {"language": "German"}, {}]
    asked.append({"language": "English", "normalization": "off"})
    found = [api.submit(model="reads digits", voice="Alice", **each)["request"]["normalization"] for each in asked]

    assert found == ["basic", "basic", "off", "off", "off"]


def test_who_prefers_to_wait_is_answered_with_the_job_at_its_end(api: ServedApi) -> None:
    body = {"input": {"text": "Good morning."}}
    headers = {"Prefer": "wait=60", "Idempotency-Key": "waits"}
    with BoundedExecutor(1) as pool:
        waiting = pool.submit(api.http.post, "/v1/jobs", json=body, headers=headers, timeout=120)
        until_ready(api, CPU_QUEUE)
        finish_job(api)
        answer = waiting.result()
    again = api.http.post("/v1/jobs", json=body, headers=headers)

    assert (answer.status_code, answer.json()["state"]) == (200, "succeeded")
    assert (answer.headers["preference-applied"], answer.headers["location"]) == (
        "wait=60",
        answer.json()["links"]["self"],
    )
    assert "retry-after" not in answer.headers
    assert (again.status_code, again.json()["id"]) == (200, answer.json()["id"])
    assert (again.headers["idempotency-replayed"], again.headers["preference-applied"]) == ("true", "wait=60")


def test_who_has_waited_long_enough_is_answered_with_the_job_as_it_is(api: ServedApi) -> None:
    answer = api.http.post("/v1/jobs", json={"input": {"text": "Hello."}}, headers={"Prefer": "wait=0"})

    assert (answer.status_code, answer.json()["state"]) == (202, "pending")
    assert (answer.headers["preference-applied"], "retry-after" in answer.headers) == ("wait=0", True)


def test_who_waits_while_redis_goes_away_learns_that_the_job_was_accepted(
    api_settings: ApiSettings, data_dir: Path
) -> None:
    with EmbeddedRedis(data_dir / "valkey") as server, BoundedExecutor(1) as pool:
        own = api_settings_of(api_settings, redis_url=server.url, broker_url=server.broker_url)
        with serve(own) as api:
            api.models.publish(SMALL)
            body, headers = {"input": {"text": "Good morning."}}, {"Prefer": "wait=8"}
            waiting = pool.submit(api.http.post, "/v1/jobs", json=body, headers=headers, timeout=120)
            until_accepted(own)
            server.stop()
            answer = waiting.result()

    assert (answer.status_code, answer.json()["state"]) == (202, "pending")
    assert answer.headers["location"] == answer.json()["links"]["self"]


def until_ready(api: ServedApi, queue: WorkQueue) -> None:
    until(lambda: api.jobs.ready_counts()[queue], "no job came")


def until_accepted(settings: ApiSettings) -> None:
    """The job is in its queue a moment before the API has heard so. It sends the ticket after that."""
    queue = TicketQueue(create_celery(settings, "test"))
    until(lambda: queue.waiting(CPU_QUEUE), "no ticket came")
    queue.close()
