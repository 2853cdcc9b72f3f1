"""Speech through an API's socket from a worker's end of the wire: what is heard, and what becomes of its places."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection

from api.live.lateness import Lateness
from api.settings import ApiSettings
from rhapsode.contract.speech_socket import NARI
from storage.audio.wav import HEADER_BYTES, wav_header
from storage.database.connections import connect_redis
from storage.queue.model_registry import ModelRegistry
from storage.queue.worker_registry import WorkerRegistry
from tests.api.harness import SMALL, ServedApi, serve
from tests.api.live.scripted_worker import MODEL, REVISION, ScriptedWorker, expected
from tests.api.openai.socket.test_routes import open_socket, refusal
from tests.threads import join_in_time
from tests.waiting import until

FAKE = dataclasses.replace(SMALL, name=MODEL, revision=REVISION, speakers=("Ada",))
START = {"type": "request.start", "voice": "ada", "language": "English", "seed": 7}
TEXT = "The wind and the sun were disputing which was the stronger."


@contextmanager
def working(worker: ScriptedWorker) -> Generator[None]:
    """A worker in a thread of its own."""
    is_up, ends = threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()

    async def work() -> None:
        async with worker.serving():
            is_up.set()
            await ends.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(work(),))
    thread.start()
    try:
        assert is_up.wait(60)
        yield
    finally:
        loop.call_soon_threadsafe(ends.set)
        join_in_time(thread)
        loop.close()


@pytest.fixture
def worker() -> ScriptedWorker:
    return ScriptedWorker("w", slots=2)


UNKNOWN = {"lang_code": "a", "stream": True, "speed": 4}
"""What other servers have, what only a POST has, and what is beyond every model."""


@pytest.fixture
def speaking(api_settings: ApiSettings, worker: ScriptedWorker) -> Iterator[ServedApi]:
    with working(worker), connect_redis(api_settings) as client:
        # Before the API looks, which it does once a second.
        ModelRegistry(client, api_settings.key_prefix).publish(FAKE)
        WorkerRegistry(client, api_settings.key_prefix).report(worker.report())
        with serve(api_settings) as api:
            yield api


def say(client: ClientConnection, *messages: dict[str, Any]) -> None:
    for message in messages:
        client.send(json.dumps(message))


def words(text: str) -> list[dict[str, Any]]:
    pieces = [f"{word} " for word in text.split()]
    pieces[-1] = pieces[-1].rstrip()
    appended = [{"type": "input_text.append", "sequence": at, "text": each} for at, each in enumerate(pieces)]
    return [*appended, {"type": "input_text.end", "sequence": len(pieces)}]


def heard(client: ClientConnection, last: str) -> tuple[bytes, list[dict[str, Any]]]:
    """The audio and the events up to the first of this type."""
    audio, events = b"", list[dict[str, Any]]()
    while not events or events[-1]["type"] != last:
        message = client.recv(timeout=60)
        if isinstance(message, bytes):
            audio += message
        else:
            events.append(json.loads(message))
    return audio, events


def test_what_is_unknown_or_beyond_the_model_is_named_and_the_text_is_spoken(speaking: ServedApi) -> None:
    with open_socket(speaking, NARI) as client:
        say(client, START | UNKNOWN, *words(TEXT))
        audio, [_, configured, *_] = heard(client, "response.done")

    assert audio
    assert configured["ignored"] == ["lang_code", "stream", "speed (2 instead of 4)"]


def test_markdown_is_spoken_as_it_was_sent(speaking: ServedApi) -> None:
    """Whether it is Markdown is certain only with text that has not come yet."""
    text = "So **this** is `it`."
    with open_socket(speaking, NARI) as client:
        say(client, {**START, "input_format": "markdown"}, *words(text))
        audio, [_, configured, *_] = heard(client, "response.done")

    assert configured["ignored"] == ["input_format"]
    assert audio == expected(text, seed=7)


def test_vllm_omnis_clients_find_it_in_the_first_event(speaking: ServedApi) -> None:
    with open_socket(speaking) as client:
        say(client, {"type": "session.config", "voice": "ada", **UNKNOWN})
        say(client, {"type": "input.text", "text": TEXT}, {"type": "input.done"})
        _, [first, *_] = heard(client, "session.done")

    assert (first["type"], first["ignored"]) == ("audio.start", ["lang_code", "stream", "speed (2 instead of 4)"])


def test_one_setting_refuses_them(api_settings: ApiSettings) -> None:
    with serve(api_settings.model_copy(update={"strict_speech": True})) as api:
        api.models.publish(FAKE)
        with open_socket(api, NARI) as client:
            say(client, START | UNKNOWN)
            _, events = heard(client, "error")

    assert (events[-1]["error"]["code"], events[-1]["error"]["param"]) == ("invalid_request", "lang_code")


def test_a_text_word_by_word_is_heard_as_the_same_text_whole(speaking: ServedApi, worker: ScriptedWorker) -> None:
    with open_socket(speaking, NARI) as client:
        say(client, START, *words(TEXT))
        audio, events = heard(client, "response.done")

    assert audio == expected(TEXT, 7)
    done = events[-1]
    assert (done["stop_reason"], done["findings"], done["usage"]["input_chars"]) == ("stop", [], len(TEXT))
    assert done["request_id"].startswith("live_")
    assert {"type": "request.configured", "model": MODEL, "voice": "Ada"} in events
    assert worker.opened[0].order.text_is_open


def test_requests_on_one_connection_each_have_their_own_manner(speaking: ServedApi) -> None:
    with open_socket(speaking, NARI) as client:
        for seed in (1, 2):
            say(client, {**START, "seed": seed, "keep_open": True}, *words("Good morning."))
            assert heard(client, "response.done")[0] == expected("Good morning.", seed)
        say(client, {**START, "voice": "nobody", "keep_open": True})
        assert heard(client, "error")[1][-1]["error"]["code"] == "voice_not_found"
        say(client, {**START, "non_streaming_mode": True}, *words("Good night."))
        assert heard(client, "response.done")[0] == expected("Good night.", 7)


def test_nobody_hears_or_cancels_what_another_connection_has_asked_for(
    speaking: ServedApi, worker: ScriptedWorker
) -> None:
    with open_socket(speaking, NARI) as ann, open_socket(speaking, NARI) as ben:
        say(ann, START, words(TEXT)[0])
        started = heard(ann, "response.started")[1][-1]
        say(ben, {**START, "seed": 8}, words("Good night.")[0])
        heard(ben, "response.started")
        # A name that is not of this connection is as one of a request that has ended.
        say(ben, {"type": "response.cancel", "request_id": started["request_id"]}, *words("Good night.")[1:])
        say(ann, *words(TEXT)[1:])

        assert heard(ben, "response.done")[1][-1]["stop_reason"] == "stop"
        audio, events = heard(ann, "response.done")

    assert events[-1]["stop_reason"] == "stop"
    assert expected(TEXT, 7).endswith(audio)
    assert worker.cancelled == []


def test_a_late_server_refuses_newcomers_and_the_next_request_and_serves_what_it_took(
    speaking: ServedApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_socket(speaking, NARI) as client:
        say(client, START)
        heard(client, "request.configured")
        with open_socket(speaking, NARI) as other:
            heard(other, "session.created")
            monkeypatch.setattr(Lateness, "note", _be_late)
            until(lambda: _is_refused(speaking))

            say(other, START)
            error = heard(other, "error")[1][-1]["error"]
            assert (error["status"], error["code"], error["retry_after_s"]) == (503, "server_busy", 2)
            with pytest.raises(ConnectionClosed) as closed:
                other.recv(timeout=60)
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 1013
        assert refusal(speaking, NARI) == (503, "server_busy")
        order = {"model": MODEL, "voice": "ada", "input": TEXT, "stream": True}
        answer = speaking.http.post("/v1/audio/speech", json=order)
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
        say(client, *words(TEXT))
        assert heard(client, "response.done")[0] == expected(TEXT, 7)


def _be_late(lateness: Lateness, late_s: float, passed_s: float, worked_s: float) -> None:
    lateness.is_late = True


def _is_refused(api: ServedApi) -> bool:
    try:
        with open_socket(api, NARI):
            return False
    except InvalidStatus:
        return True


def test_whoever_cancels_goes_or_falls_silent_gives_the_place_back(speaking: ServedApi, worker: ScriptedWorker) -> None:
    start = {**START, "keep_open": True}
    with open_socket(speaking, NARI) as client:
        say(client, start, words(TEXT)[0])
        heard(client, "response.started")
        say(client, {"type": "response.cancel"})
        assert heard(client, "response.done")[1][-1]["stop_reason"] == "cancelled"
        until(lambda: len(worker.cancelled) == 1)
        say(client, start, words(TEXT)[0])
        heard(client, "response.started")
    until(lambda: len(worker.cancelled) == 2)


def test_full_is_said_at_once_and_when_to_come_again(speaking: ServedApi, worker: ScriptedWorker) -> None:
    worker.slots = 0
    with open_socket(speaking, NARI) as client:
        say(client, START, *words("Good morning."))
        error = heard(client, "error")[1][-1]["error"]
        with pytest.raises(ConnectionClosed) as closed:
            client.recv(timeout=60)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1013

    assert (error["code"], error["status"], error["retry_after_s"]) == ("live_full", 429, 1)


def test_a_field_that_cannot_be_is_refused_before_any_text(speaking: ServedApi) -> None:
    for fields, param in (
        ({"temperature": 3}, "temperature"),
        ({"speed": 9}, "speed"),
        ({"model": "nobody"}, "model"),
    ):
        with open_socket(speaking, NARI) as client:
            say(client, {**START, **fields})
            assert heard(client, "error")[1][-1]["error"]["param"] == param


def test_vllm_omnis_session_has_audio_whole_or_as_it_is_made(speaking: ServedApi) -> None:
    whole = expected("Good morning.", 7)
    config = {"type": "session.config", "voice": "ada", "seed": 7}
    with open_socket(speaking) as client:
        say(client, config)
        say(client, {"type": "input.text", "text": "Good mor"}, {"type": "input.text", "text": "ning."})
        say(client, {"type": "input.done"})
        audio, events = heard(client, "session.done")
        assert audio == wav_header(len(whole) // 2, 24_000) + whole
        assert [each["type"] for each in events] == ["audio.start", "audio.done", "session.done"]
        say(
            client,
            {"type": "session.config", "voice": "ada", "seed": 7, "response_format": "pcm", "stream_audio": True},
        )
        say(client, {"type": "input.text", "text": "Good morning."}, {"type": "input.done"})
        audio, events = heard(client, "session.done")
        assert (audio, events[0]["sample_rate"]) == (whole, 24_000)
        assert events[-1]["utterance_index"] == 1
        say(client, {**config, "response_format": "mp3"})
        say(client, {"type": "input.text", "text": "Good morning."}, {"type": "input.done"})
        audio, _ = heard(client, "session.done")
        assert len(audio) > HEADER_BYTES
        assert not audio.startswith(b"RIFF")


def test_nobody_hears_or_cancels_what_another_connection_has_spoken(
    speaking: ServedApi, worker: ScriptedWorker
) -> None:
    start = {**START, "keep_open": True}
    with open_socket(speaking, NARI) as spoken, open_socket(speaking, NARI) as other:
        say(spoken, start, *words(TEXT))
        begun, events = heard(spoken, "response.started")
        stream = events[-1]["request_id"]
        say(
            other,
            {"type": "response.cancel", "request_id": stream},
            start,
            {"type": "response.cancel", "request_id": stream},
        )
        say(other, *words("Good morning."))
        assert speaking.http.delete(f"/v1/audio/speech/{stream}").status_code == 404
        assert heard(other, "response.done")[0] == expected("Good morning.", 7)
        assert begun + heard(spoken, "response.done")[0] == expected(TEXT, 7)

    assert worker.cancelled == []
