"""What a job is given to speak: checked at the door, kept as it came, and planned without being spoken if so wished."""

from __future__ import annotations

import threading
from typing import Any

import httpx
import pytest

from reading.script.entries import ScriptEntry, decode_entries
from rhapsode.contract.jobs.input import DocumentFormat, Images, NarrationInput, SourceType, SsmlMode
from rhapsode.contract.plans import PlanDocument
from storage.ids import TenantId
from storage.jobs.record import ArtifactRecord, JobError
from storage.jobs.work_queues import CPU_QUEUE
from storage.narration.cast import SpeakerVoice
from storage.narration.spec import NarrationSpec
from storage.objects import keys
from tests.api.harness import ServedApi, claim, job_id
from tests.threads import join_in_time

LOCAL = TenantId("local")


def submitted(api: ServedApi, **body: Any) -> tuple[dict[str, Any], NarrationSpec]:
    answer = api.http.post("/v1/jobs", json=body)
    assert answer.status_code == 202, answer.text
    spec = api.jobs.get(LOCAL, job_id(answer.json())).spec
    assert isinstance(spec, NarrationSpec)
    return answer.json(), spec


def uploaded(api: ServedApi, data: bytes) -> str:
    order = api.http.post("/v1/uploads", json={"bytes": len(data)}).json()
    assert httpx.put(order["url"], content=data, headers=order["headers"]).is_success
    return order["id"]


def test_a_cast_speaks_with_the_models_voices(api: ServedApi) -> None:
    job, spec = submitted(api, input={"text": "FOX: Hello.\nCROW: Caw."}, speakers={"Fox": "bob", "Crow": "Alice"})

    assert spec.cast == (SpeakerVoice("Fox", "Bob"), SpeakerVoice("Crow", "Alice"))
    assert (spec.request.voice, spec.request.input) == ("Alice", NarrationInput())
    assert job["request"]["speakers"] == {"Fox": "Bob", "Crow": "Alice"}


def test_entries_are_kept_with_everything_they_say(api: ServedApi) -> None:
    entries = [
        {"text": "Hello.", "id": "a", "voice": "bob", "instructions": "calm", "seed": 3, "pause_after_s": 0.5},
        {"text": "Hallo.", "speaker": "Fox", "language": "de-AT"},
    ]

    job, spec = submitted(api, input={"segments": entries}, speakers={"Fox": "Alice"})

    assert spec.request.input == NarrationInput(type=SourceType.SEGMENTS)
    assert spec.cast == (SpeakerVoice("Fox", "Alice"), SpeakerVoice("bob", "Bob"))
    assert decode_entries(api.objects.get(keys.input_text(LOCAL, job_id(job)))) == (
        ScriptEntry("Hello.", "a", "bob", "", "calm", 3, 0.5),
        ScriptEntry("Hallo.", "", "Fox", "German"),
    )
    assert (job["usage"]["input_chars"], job["request"]["input"]["type"]) == (12, "segments")


def test_ssml_names_voices_and_the_cast(api: ServedApi) -> None:
    ssml = '<speak><voice name="Fox">Hello.</voice> <voice name="bob">Hi.</voice></speak>'

    job, spec = submitted(api, input={"ssml": ssml}, speakers={"Fox": "Alice"}, language="en")

    assert spec.cast == (SpeakerVoice("Fox", "Alice"), SpeakerVoice("bob", "Bob"))
    assert spec.request.language == "English"
    assert api.objects.get(keys.input_text(LOCAL, job_id(job))).decode() == ssml


def test_lenient_ssml_gets_the_voices_that_there_are(api: ServedApi) -> None:
    told = "<voice name='Joanna'>Hello.</voice> <voice name='bob'>Hi.</voice>"
    ssml = f"<speak><prosody rate='slow'>{told}</prosody></speak>"

    job, spec = submitted(api, input={"ssml": ssml, "ssml_mode": "lenient"}, language="en")

    assert spec.cast == (SpeakerVoice("bob", "Bob"),)
    assert spec.request.input == NarrationInput(type=SourceType.SSML, ssml_mode=SsmlMode.LENIENT)
    assert job["request"]["input"]["ssml_mode"] == "lenient"


def test_a_document_is_copied_from_its_upload(api: ServedApi) -> None:
    upload = uploaded(api, b"# One\n\nText.")

    job, spec = submitted(api, input={"document": {"upload_id": upload, "format": "md", "include": ["1"]}})
    api.http.delete(f"/v1/uploads/{upload}")

    assert spec.request.input == NarrationInput(
        type=SourceType.DOCUMENT, format=DocumentFormat.MARKDOWN, include=("1",), images=Images.SKIP
    )
    assert api.objects.get(keys.input_text(LOCAL, job_id(job))) == b"# One\n\nText."
    shown = {
        "type": "document",
        "format": "md",
        "include": ["1"],
        "images": "skip",
        "ssml_mode": None,
        "find_speakers": False,
        "has_lines": False,
        "first_words": "",
    }
    assert job["request"]["input"] == shown


def test_a_cast_for_a_book_is_refused(api: ServedApi) -> None:
    document = {"upload_id": uploaded(api, b"<p>x"), "format": "html"}
    before = api.traces()

    answer = api.http.post("/v1/jobs", json={"input": {"document": document}, "speakers": {"Fox": "Bob"}})

    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/speakers")
    assert api.traces() == before


@pytest.mark.parametrize(
    "body",
    [
        {"input": {"document": {"upload_id": "upl_01jd0000000000000000000000", "format": "md"}}},
        {"input": {"text": "Hello."}, "pronunciation_dictionaries": ["pd_01jd0000000000000000000000"]},
    ],
)
def test_a_refusal_leaves_nothing_behind(api: ServedApi, body: dict[str, Any]) -> None:
    answer = api.http.post("/v1/jobs", json=body)

    assert answer.status_code == 422
    assert api.traces()[0] == []
    assert not list(api.objects.list("jobs/"))


PLAN = (
    PlanDocument(
        format=1,
        title="",
        author="",
        language="English",
        has_cover=False,
        num_chars=5,
        num_segments=1,
        estimated_audio_s=1.0,
        estimated_render_s=None,
        warnings=(),
        left_out=(),
        speakers=(),
        chapters=(),
        segments=(),
    )
    .model_dump_json()
    .encode()
)


def plan_soon(api: ServedApi) -> None:
    """A worker's part: the plan of the only waiting job, which wants nothing else."""
    item = claim(api, CPU_QUEUE)
    assert item.narration.request.validate_only
    stored = api.objects.put(keys.artifact(item.lease, "plan.json"), PLAN)
    api.jobs.finish_plan(item.lease, [ArtifactRecord("plan.json", "plan", stored.key, stored.bytes, stored.sha256)])


def fail_soon(api: ServedApi) -> None:
    api.jobs.fail(claim(api, CPU_QUEUE).lease, JobError("unsupported_media", "the EPUB is not a ZIP file"))


def posted(api: ServedApi, worker: Any, **headers: str) -> httpx.Response:
    """The answer to an order for a plan while a worker works on it."""
    done = threading.Event()

    def work() -> None:
        while not done.is_set():
            if api.jobs.ready_counts()[CPU_QUEUE]:
                worker(api)
                return
            done.wait(0.02)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        body = {"input": {"text": "Hello."}, "validate_only": True}
        return api.http.post("/v1/jobs", json=body, headers=headers, timeout=60)
    finally:
        done.set()
        join_in_time(thread)


def test_a_plan_is_the_answer_when_nothing_else_is_wanted(api: ServedApi) -> None:
    answer = posted(api, plan_soon, **{"Idempotency-Key": "p"})
    again = api.http.post(
        "/v1/jobs", json={"input": {"text": "Hello."}, "validate_only": True}, headers={"Idempotency-Key": "p"}
    )

    job = api.http.get(answer.headers["Location"]).json()
    assert (answer.status_code, answer.content) == (200, PLAN)
    assert (again.status_code, again.content, again.headers["Idempotency-Replayed"]) == (200, PLAN, "true")
    assert (job["state"], job["usage"]["audio_s"], job["progress"]["segments"]["total"]) == ("succeeded", 0, 0)
    assert [artifact["name"] for artifact in job["artifacts"]] == ["plan.json"]


def test_who_will_not_wait_for_a_plan_has_its_job_at_once(api: ServedApi) -> None:
    body = {"input": {"text": "Hello."}, "validate_only": True}
    key = {"Idempotency-Key": "at-once"}

    ordered = api.http.post("/v1/jobs", json=body, headers={**key, "Prefer": "wait=0"})
    plan_soon(api)
    planned = api.http.post("/v1/jobs", json=body, headers=key)

    assert (ordered.status_code, ordered.headers["Preference-Applied"]) == (202, "wait=0")
    assert (ordered.json()["state"], planned.status_code) == ("pending", 200)
    assert planned.headers["Location"].endswith(ordered.json()["id"])


def test_an_input_without_a_plan_is_a_problem(api: ServedApi) -> None:
    answer = posted(api, fail_soon)

    assert (answer.status_code, answer.json()["code"]) == (422, "unsupported_media")
    assert answer.json()["detail"] == "the EPUB is not a ZIP file"


def test_a_plan_that_takes_long_is_a_job(api: ServedApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.jobs.control.plan_answer.PLAN_WAIT_S", 0.1)

    answer = api.http.post("/v1/jobs", json={"input": {"text": "Hello."}, "validate_only": True})

    assert (answer.status_code, answer.json()["state"]) == (202, "pending")
    assert answer.json()["request"]["validate_only"] is True
