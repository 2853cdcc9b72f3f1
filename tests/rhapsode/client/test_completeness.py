"""Both clients know every operation of the OpenAPI description, send what it asks for and read its examples.

A real server answers each call with the example of its operation. An operation without a call of the client is in
`WITHOUT_A_CALL`, with the reason.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from api.openapi.examples import examples
from rhapsode import AsyncRhapsode, Rhapsode
from rhapsode.client.resources import Job
from rhapsode.client.voices.orders import Blend, BulkOrder
from tests.api.openapi.contract import document, pointer_to, validator
from tests.rhapsode.conftest import Received, ScriptedServer

EXAMPLES = examples()
AUDIO = b"RIFF of a job"
EVENT = {
    "type": "job.succeeded",
    "timestamp": "2026-11-21T23:16:00Z",
    "data": {
        "job": {
            "id": "job_1",
            "state": "succeeded",
            "phase": None,
            "progress": {
                "fraction": 1.0,
                "segments_total": 1,
                "segments_done": 1,
                "chars_done": 9,
                "audio_s_done": 0.5,
            },
        },
        "detail": {},
        "links": {"self": "https://tts.example.org/v1/jobs/job_1"},
    },
}
RESULT = {
    "custom_id": "a",
    "line": 1,
    "job_id": None,
    "state": None,
    "artifacts": [],
    "error": None,
    "audio_s": 0.0,
}

WITHOUT_A_CALL = {
    "list_audio_voices": "another system's shape; `voices.list`",
    "list_audio_models": "another system's shape; `models`",
    "post_audio_voice": "another system's shape; `voices.add`",
    "delete_audio_voice": "another system's shape; `voices.delete`",
    "get_audio_voice": "another system's shape; `voices.get`",
    "speak_batch": "another system's shape; `speak`, as many as there are texts, or a batch",
    "cache_audio_voice": "another system's shape; `voices.prepare`",
    "open_speech_socket": "a WebSocket; `stream_speech` speaks it where text comes in pieces",
    "redeliver_to_endpoint": "the same as `redeliver`, at a longer address",
    "is_alive": "for whoever runs the server",
    "is_ready": "for whoever runs the server",
    "health": "for whoever runs the server",
    "metrics": "for Prometheus",
    "get_object": "a link leads there",
    "put_object": "a link leads there; `upload`",
}


@dataclass(frozen=True)
class Case:
    """call: of either client; what it returns is awaited or iterated over. answer: in place of the example."""

    call: Callable[[Any], Any]
    answer: bytes | None = None
    media_type: str = "application/json"


@dataclass(frozen=True)
class Both:
    """The two clients of one scripted server."""

    script: ScriptedServer
    client: Rhapsode
    async_client: AsyncRhapsode
    runner: asyncio.Runner

    def called(self, call: Callable[[Any], Any]) -> None:
        result = call(self.client)
        if isinstance(result, Iterator):
            list(result)

    def called_async(self, call: Callable[[Any], Any]) -> None:
        async def run() -> None:
            result = call(self.async_client)
            if isinstance(result, AsyncIterator):
                [each async for each in result]
            elif isinstance(result, Awaitable):
                await result

        self.runner.run(run())


@pytest.fixture(scope="module")
def both() -> Iterator[Both]:
    script = ScriptedServer()
    with asyncio.Runner() as runner, Rhapsode(script.url) as client:
        async_client = AsyncRhapsode(script.url)
        yield Both(script, client, async_client, runner)
        runner.run(async_client.close())
    script.close()


def finished_job() -> Job:
    example = json.loads(json.dumps(EXAMPLES["get_job"]["200"]))
    example["artifacts"][0] |= {"bytes": len(AUDIO), "sha256": hashlib.sha256(AUDIO).hexdigest()}
    return Job.model_validate(example)


def cases(folder: Path) -> dict[str, Case]:
    recording = folder / "ada.wav"
    recording.write_bytes(AUDIO)
    job, name = finished_job(), finished_job().artifacts[0].name
    stream = f"id: 1-0\nevent: job.succeeded\ndata: {json.dumps(EVENT)}\n\n".encode()
    return {
        "submit_job": Case(lambda c: c.submit_job("Hello.", voice="alice")),
        "put_job": Case(lambda c: c.create_job("job_01kxyz", "Hello.", metadata={"book": "1"})),
        "list_jobs": Case(lambda c: c.jobs()),
        "get_job": Case(lambda c: c.job("job_1")),
        "delete_job": Case(lambda c: c.delete("job_1")),
        "change_job": Case(lambda c: c.change("job_1", priority="high")),
        "cancel_job": Case(lambda c: c.cancel("job_1")),
        "pause_job": Case(lambda c: c.pause("job_1")),
        "resume_job": Case(lambda c: c.resume("job_1")),
        "retry_job": Case(lambda c: c.retry("job_1", seed=8)),
        "assemble_job": Case(lambda c: c.assemble("job_1", {"formats": [{"type": "m4b"}]})),
        "hear_job": Case(lambda c: c.listen("job_1"), AUDIO, "audio/wav"),
        "follow_job": Case(lambda c: c.events("job_1"), stream, "text/event-stream"),
        "share_artifact": Case(lambda c: c.share("job_1", "narration.wav")),
        "list_artifacts": Case(lambda c: c.artifacts("job_1")),
        "get_artifact": Case(lambda c: c.download(job, name, folder / "out.wav"), AUDIO, "audio/wav"),
        "list_segments": Case(lambda c: c.segments.list("job_1")),
        "get_segment": Case(lambda c: c.segments.get("job_1", "seg_000000")),
        "edit_segment": Case(lambda c: c.segments.edit("job_1", "seg_000000", text="Hello again.")),
        "edit_segments": Case(lambda c: c.segments.edit_all("job_1", ["seg_000000"], takes=[1])),
        "edit_sentence": Case(lambda c: c.segments.edit_sentence("job_1", "seg_000000.1", "Hello again.")),
        "regenerate_segment": Case(lambda c: c.segments.regenerate("job_1", "seg_000000", seed=8)),
        "get_waveform": Case(lambda c: c.segments.waveform("job_1")),
        "list_takes": Case(lambda c: c.segments.takes("job_1", "seg_000000")),
        "select_attempt": Case(lambda c: c.segments.keep("job_1", "seg_000000", 1)),
        "select_take": Case(lambda c: c.segments.select("job_1", "seg_000000", 1)),
        "get_segment_audio": Case(lambda c: c.segments.audio("job_1", "seg_000000"), AUDIO, "audio/wav"),
        "post_batch": Case(lambda c: c.batches.submit(folder / "ada.wav")),
        "list_batches": Case(lambda c: c.batches.list()),
        "get_batch": Case(lambda c: c.batches.get("bat_1")),
        "cancel_batch": Case(lambda c: c.batches.cancel("bat_1")),
        "delete_batch": Case(lambda c: c.batches.delete("bat_1")),
        "get_results": Case(lambda c: c.batches.results("bat_1"), json.dumps(RESULT).encode(), "application/jsonl"),
        "post_upload": Case(lambda c: c.upload(recording)),
        "get_upload": Case(lambda c: c.uploaded("upl_1")),
        "delete_upload": Case(lambda c: c.delete_upload("upl_1")),
        "get_usage": Case(lambda c: c.usage()),
        "get_tenant_usage": Case(lambda c: c.usage(tenant="ann")),
        "get_quotas": Case(lambda c: c.quotas.read()),
        "get_tenant_quotas": Case(lambda c: c.quotas.read("ann")),
        "put_tenant_quotas": Case(lambda c: c.quotas.set("ann", jobs=10)),
        "delete_tenant_quotas": Case(lambda c: c.quotas.reset("ann")),
        "post_voice": Case(lambda c: c.voices.add("Ada", recording, consent="I agree.")),
        "list_voices": Case(lambda c: c.voices.list()),
        "get_voice": Case(lambda c: c.voices.get("voc_1")),
        "patch_voice": Case(lambda c: c.voices.change("voc_1", name="Eve")),
        "delete_voice": Case(lambda c: c.voices.delete("voc_1")),
        "blend": Case(lambda c: c.voices.blend(Blend("Between", {"Ada": 0.5, "Eve": 0.5}))),
        "post_preview": Case(lambda c: c.voices.preview("voc_1")),
        "put_sample": Case(lambda c: c.voices.replace_recording("voc_1", recording, consent="I agree.")),
        "get_sample": Case(lambda c: c.voices.sample("voc_1"), AUDIO, "audio/wav"),
        "get_embedding": Case(lambda c: c.voices.embedding("voc_1"), AUDIO, "application/octet-stream"),
        "order_voice_cache": Case(lambda c: c.voices.prepare("voc_1")),
        "get_voice_cache": Case(lambda c: c.voices.caches("voc_1")),
        "delete_voice_cache": Case(lambda c: c.voices.drop_caches("voc_1")),
        "order_voice_caches": Case(lambda c: c.voices.prepare_many(BulkOrder())),
        "list_voice_caches": Case(lambda c: c.voices.list_caches()),
        "speak": Case(lambda c: c.speak("Hello.", model="small", voice="alice"), AUDIO, "audio/mpeg"),
        "list_models": Case(lambda c: c.models()),
        "get_model": Case(lambda c: c.model("small")),
        "get_capabilities": Case(lambda c: c.capabilities()),
        "post_key": Case(lambda c: c.keys.create("ann", "the shop")),
        "list_keys": Case(lambda c: c.keys.list()),
        "revoke_key": Case(lambda c: c.keys.revoke("key_1")),
        "list_workers": Case(lambda c: c.operations.workers()),
        "drain_worker": Case(lambda c: c.operations.drain("gpu-0")),
        "undrain_worker": Case(lambda c: c.operations.undrain("gpu-0")),
        "get_fleet_history": Case(lambda c: c.operations.history()),
        "list_queues": Case(lambda c: c.operations.queues()),
        "list_dead_letters": Case(lambda c: c.operations.dead_letters()),
        "forget_dead_letter": Case(lambda c: c.operations.forget_dead_letter("dead_1")),
        "audit": Case(lambda c: c.operations.audit()),
        "reconcile": Case(lambda c: c.operations.reconcile()),
        "post_dictionary": Case(lambda c: c.dictionaries.create("names", [{"grapheme": "a", "alias": "b"}])),
        "list_dictionaries": Case(lambda c: c.dictionaries.list()),
        "get_dictionary": Case(lambda c: c.dictionaries.get("pd_1")),
        "delete_dictionary": Case(lambda c: c.dictionaries.delete("pd_1")),
        "post_version": Case(lambda c: c.dictionaries.add_version("pd_1", [{"grapheme": "a", "alias": "b"}])),
        "get_version": Case(lambda c: c.dictionaries.export("pd_1", 1), b"<lexicon/>", "application/pls+xml"),
        "list_endpoints": Case(lambda c: c.webhooks.list()),
        "post_endpoint": Case(lambda c: c.webhooks.create("https://receiver.example.org/x")),
        "get_endpoint": Case(lambda c: c.webhooks.get("whe_1")),
        "patch_endpoint": Case(lambda c: c.webhooks.change("whe_1", description="the shop")),
        "delete_endpoint": Case(lambda c: c.webhooks.delete("whe_1")),
        "enable_endpoint": Case(lambda c: c.webhooks.enable("whe_1")),
        "disable_endpoint": Case(lambda c: c.webhooks.disable("whe_1")),
        "rotate_secret": Case(lambda c: c.webhooks.rotate_secret("whe_1")),
        "test_endpoint": Case(lambda c: c.webhooks.send_test("whe_1")),
        "list_deliveries": Case(lambda c: c.webhooks.deliveries("whe_1")),
        "get_delivery": Case(lambda c: c.webhooks.delivery("evt_1")),
        "redeliver": Case(lambda c: c.webhooks.redeliver("evt_1")),
        "list_job_deliveries": Case(lambda c: c.webhooks.job_deliveries("job_1")),
        "get_secret": Case(lambda c: c.webhooks.job_secret()),
        "rotate_tenant_secret": Case(lambda c: c.webhooks.rotate_job_secret()),
    }


def operations() -> dict[str, tuple[str, str, dict[str, Any]]]:
    return {
        operation["operationId"]: (path, method, operation)
        for path, methods in document()["paths"].items()
        for method, operation in methods.items()
    }


def test_every_operation_has_a_call_or_a_reason_for_none(tmp_path: Path) -> None:
    known = cases(tmp_path).keys() | WITHOUT_A_CALL.keys()

    assert operations().keys() - known == set()
    assert known - operations().keys() == set()


@pytest.mark.parametrize("name", sorted(operations().keys() - WITHOUT_A_CALL.keys()))
def test_a_call_is_its_operations_and_its_example_is_understood(both: Both, tmp_path: Path, name: str) -> None:
    case = cases(tmp_path)[name]

    for run in (both.called, both.called_async):
        _prepare(both.script, name, case)
        run(case.call)
        _check_request(name, both.script.received[-1 if name == "post_batch" else 0])
        assert both.script.replies == []
        both.script.received.clear()


def _prepare(script: ScriptedServer, name: str, case: Case) -> None:
    """What the server answers: the operation's example, or what stands in the case."""
    if name in ("post_upload", "post_batch"):
        place = {**EXAMPLES["post_upload"]["201"], "url": f"{script.url}/there", "headers": {}}
        script.answer(201, place)
        script.answer(201, "")
        if name == "post_upload":
            return
    if case.answer is not None:
        script.answer(200, case.answer.decode(), {"Content-Type": case.media_type})
        return
    status = min(status for status in operations()[name][2]["responses"] if status < "300")
    if name in ("submit_job", "retry_job"):
        status = "202"
    example = EXAMPLES.get(name, {}).get(status)
    script.answer(int(status), "" if example is None else example)
    if example and example.get("has_more"):
        script.answer(200, {**example, "data": [], "next_cursor": None, "has_more": False})


def _check_request(name: str, request: Received) -> None:
    path, method, operation = operations()[name]
    where, _, _ = request.path.partition("?")
    assert (request.method.lower(), where.count("/")) == (method, path.count("/"))
    for wanted, sent in zip(path.split("/"), where.split("/"), strict=True):
        assert wanted.startswith("{") or wanted == sent, request.path
    if method == "post":
        assert request.headers["idempotency-key"]
    body = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if body is not None and request.headers.get("content-type") == "application/json":
        place = ("paths", path, method, "requestBody", "content", "application/json", "schema")
        assert list(validator(pointer_to(place)).iter_errors(json.loads(request.body))) == []


@dataclass(frozen=True)
class Method:
    """One that a user may call. text: as `Rhapsode.voices.get(self, voice: 'str') -> 'Voice'`."""

    text: str
    about: str


def methods(client: Rhapsode | AsyncRhapsode) -> list[Method]:
    """By their names, group by group."""
    groups = [name for name in vars(client) if not name.startswith("_")]
    owners = [("", client), *((f".{name}", getattr(client, name)) for name in groups)]
    return [
        Method(f"{type(client).__name__}{group}.{name}{inspect.signature(method)}", inspect.getdoc(method) or "")
        for group, owner in owners
        for name, method in inspect.getmembers(type(owner), inspect.isfunction)
        if not name.startswith("_")
    ]


@pytest.fixture(scope="module")
def sync_methods() -> list[Method]:
    with Rhapsode("http://127.0.0.1:9") as client:
        return methods(client)


def test_both_clients_have_the_same_methods_and_say_the_same_of_them(sync_methods: list[Method]) -> None:
    for one, other in zip(sync_methods, methods(AsyncRhapsode("http://127.0.0.1:9")), strict=True):
        assert one.text == other.text.replace("Async", "")
        assert one.about == other.about.replace("who is cancelled", "who is interrupted").replace("async with", "with")


def test_a_users_program_may_call_what_it_could(sync_methods: list[Method]) -> None:
    """Who changes a signature changes the list, and tells users in the CHANGELOG."""
    agreed = Path(__file__).with_name("signatures.txt").read_text().splitlines()

    assert [method.text for method in sync_methods] == agreed
