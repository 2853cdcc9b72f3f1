"""Live speech through both clients: what they send, what they make of what comes, and of what should not."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from typing import cast

import pytest

from rhapsode import (
    AsyncRhapsode,
    AudioChunk,
    BadAnswer,
    InvalidRequest,
    NotFound,
    RateLimited,
    Rhapsode,
    ServerUnreachable,
    Unauthorized,
)
from rhapsode.client.live.chunks import SpeechFacts
from rhapsode.client.retries import RetryPolicy
from tests.rhapsode.client.live.socket_server import FRAME, Served, serving
from tests.rhapsode.conftest import ScriptedServer

PCM = {"Content-Type": "audio/pcm", "X-Sample-Rate": "24000", "X-Model": "small_voice", "X-Voice": "Zo%C3%AB"}
QUICK = RetryPolicy(attempts=2, first_delay_s=0.01)
PATIENCE_S = 60.0

Heard = tuple[list[AudioChunk], SpeechFacts]
Hear = Callable[[str, str | Iterable[str]], Heard]


def hear(url: str, text: str | Iterable[str]) -> Heard:
    with Rhapsode(url, retries=QUICK, api_key="k") as client, client.stream_speech(text, voice="slt", seed=7) as stream:
        return list(stream), stream.facts


def hear_async(url: str, text: str | Iterable[str]) -> Heard:
    async def run() -> Heard:
        async with (
            AsyncRhapsode(url, retries=QUICK, api_key="k") as client,
            client.stream_speech(text, voice="slt", seed=7) as stream,
        ):
            return [chunk async for chunk in stream], stream.facts

    return asyncio.run(run())


@pytest.fixture(params=[hear, hear_async])
def heard(request: pytest.FixtureRequest) -> Hear:
    """By either client."""
    return request.param


def utter(served: Served) -> None:
    """A healthy utterance: two chunks, once the text is whole."""
    served.open()
    served.whole_text()
    served.start()
    served.line.send(FRAME)
    served.line.send(FRAME)
    served.done(2, findings=["endless_speech"])


def test_a_text_is_asked_for_as_a_stream_and_arrives_as_whole_samples(heard: Hear, script: ScriptedServer) -> None:
    script.answer(200, "x" * 5001, PCM)

    chunks, facts = heard(script.url, "Hello.")

    order = json.loads(script.received[0].body)
    assert order == {"input": "Hello.", "voice": "slt", "seed": 7, "stream": True, "response_format": "pcm"}
    assert "idempotency-key" not in script.received[0].headers
    assert all(len(chunk.pcm) % 2 == 0 and chunk.sample_rate_hz == 24_000 for chunk in chunks)
    assert b"".join(chunk.pcm for chunk in chunks) == b"x" * 5000
    assert facts.first_audio_s is not None
    assert facts.first_audio_s > 0
    assert facts.audio_s == pytest.approx(2500 / 24_000)
    assert (facts.model, facts.voice) == ("small_voice", "Zoë")


def test_what_is_refused_is_raised_as_by_other_calls(heard: Hear, script: ScriptedServer) -> None:
    full = {"error": {"message": "all places are taken", "code": "live_full", "param": None}}
    script.answer(404, {"error": {"message": "no voice is called slt", "code": "voice_not_found", "param": "voice"}})
    script.answer(429, full, {"Retry-After": "0"})
    script.answer(429, full, {"Retry-After": "0"})

    with pytest.raises(NotFound, match="no voice is called slt") as refusal:
        heard(script.url, "Hello.")
    assert refusal.value.violations[0].where == "voice"
    with pytest.raises(RateLimited, match="all places are taken"):
        heard(script.url, "Hello.")


def test_a_stream_that_breaks_is_not_asked_for_again(heard: Hear, script: ScriptedServer) -> None:
    script.cut(b"x" * 100, PCM)

    with pytest.raises(ServerUnreachable, match="the speech broke off before its end"):
        heard(script.url, "Hello.")
    assert len(script.received) == 1


@pytest.mark.parametrize("rate", [None, "fast", "0", "-1", "²", "9" * 5000])
def test_a_stream_without_a_rate_is_no_answer(heard: Hear, script: ScriptedServer, rate: str | None) -> None:
    script.answer(200, "xx", {"Content-Type": "audio/pcm"} | ({"X-Sample-Rate": rate} if rate else {}))

    with pytest.raises(BadAnswer, match="without its sample rate"):
        heard(script.url, "Hello.")


def test_a_text_in_pieces_is_numbered_ended_and_heard(heard: Hear) -> None:
    with serving(utter) as server:
        chunks, facts = heard(server.url, ["The wind ", "", "and the sun.", "!" * 5000])

    start, *text = server.served[0].received
    assert start == {"type": "request.start", "response_format": "pcm", "voice": "slt", "seed": 7}
    assert [(each["type"], each["sequence"]) for each in text] == [
        *(("input_text.append", number) for number in range(4)),
        ("input_text.end", 4),
    ]
    assert "".join(each.get("text", "") for each in text) == "The wind and the sun." + "!" * 5000
    assert server.requests[0].headers["Authorization"] == "Bearer k"
    assert [chunk.pcm for chunk in chunks] == [FRAME, FRAME]
    assert chunks[0].duration_s == pytest.approx(0.08)
    assert facts.findings == ("endless_speech",)
    assert (facts.model, facts.voice) == ("small_voice", "slt")


def speak_after_the_first_word(served: Served) -> None:
    served.open()
    served.text()
    served.start()
    served.line.send(FRAME)
    served.whole_text()
    served.done(1)


def test_speech_is_heard_before_the_text_is_whole() -> None:
    is_heard = threading.Event()

    def text() -> Iterator[str]:
        yield "The "
        assert is_heard.wait(PATIENCE_S)
        yield "wind."

    with serving(speak_after_the_first_word) as server, Rhapsode(server.url) as client:
        for _ in client.stream_speech(text()):
            is_heard.set()

    assert [each.get("text") for each in server.served[0].received[1:]] == ["The ", "wind.", None]


def test_an_asynchronous_text_is_heard_before_it_is_whole() -> None:
    async def run() -> None:
        is_heard = asyncio.Event()

        async def text() -> AsyncIterator[str]:
            yield "The "
            await asyncio.wait_for(is_heard.wait(), PATIENCE_S)
            yield "wind."

        async with AsyncRhapsode(server.url) as client:
            async for _ in client.stream_speech(text()):
                is_heard.set()

    with serving(speak_after_the_first_word) as server:
        asyncio.run(run())

    assert [each.get("text") for each in server.served[0].received[1:]] == ["The ", "wind.", None]


def speak_until_they_go(served: Served) -> None:
    served.open()
    served.text()
    served.start()
    served.line.send(FRAME)
    served.until_gone()


def endless() -> Iterator[str]:
    yield "The "
    threading.Event().wait()


ENDLESS = """
import asyncio, sys, threading
from rhapsode import AsyncRhapsode, Rhapsode

def endless():
    yield "The "
    threading.Event().wait()
"""
TAKE_ONE = """
stream = Rhapsode(sys.argv[1]).stream_speech(endless())
next(stream)
"""
"""Leaves its stream open."""

TAKE_ONE_ASYNC = """
async def take_one():
    async with AsyncRhapsode(sys.argv[1]) as client, client.stream_speech(endless()) as stream:
        await anext(stream)

asyncio.run(take_one())
"""


def test_who_breaks_off_leaves_the_server_at_once() -> None:
    with serving(speak_until_they_go) as server, Rhapsode(server.url) as client:
        with client.stream_speech(endless()) as stream:
            next(stream)

        assert server.served[0].is_gone.wait(PATIENCE_S)


def test_who_breaks_off_asynchronously_leaves_the_server_at_once() -> None:
    async def text() -> AsyncIterator[str]:
        yield "The "
        await asyncio.Event().wait()

    async def run() -> None:
        async with AsyncRhapsode(server.url) as client, client.stream_speech(text()) as stream:
            await anext(stream)

    with serving(speak_until_they_go) as server:
        asyncio.run(run())

        assert server.served[0].is_gone.wait(PATIENCE_S)


def only_listen(served: Served) -> None:
    served.open()
    served.until_gone()


def test_a_text_that_cannot_be_read_on_is_told_by_its_own_error(heard: Hear) -> None:
    def text() -> Iterator[str]:
        yield "The "
        raise LookupError("the model has gone")

    with serving(only_listen) as server:
        with pytest.raises(LookupError, match="the model has gone"):
            heard(server.url, text())

        assert server.served[0].is_gone.wait(PATIENCE_S)
    assert "input_text.end" not in [each["type"] for each in server.served[0].received]


@pytest.mark.parametrize("failure", [SystemExit(3), CancelledError(), asyncio.CancelledError()])
def test_any_error_of_the_text_is_raised(heard: Hear, failure: BaseException) -> None:
    def text() -> Iterator[str]:
        yield "The "
        raise failure

    with serving(only_listen) as server, pytest.raises(type(failure)):
        heard(server.url, text())


def test_a_piece_that_is_no_text_is_refused(heard: Hear) -> None:
    with serving(only_listen) as server, pytest.raises(TypeError):
        heard(server.url, ["The ", cast("str", None), "wind."])


@pytest.mark.parametrize("take_one", [TAKE_ONE, TAKE_ONE_ASYNC])
def test_a_text_that_never_goes_on_does_not_keep_the_program(take_one: str) -> None:
    with serving(speak_until_they_go) as server:
        ended = subprocess.run([sys.executable, "-c", ENDLESS + take_one, server.url], timeout=PATIENCE_S, check=False)

    assert ended.returncode == 0


def test_a_refused_connection_is_raised_as_by_other_calls(heard: Hear) -> None:
    wrong = {"error": {"message": "this key is not one of ours", "code": "unauthorized", "param": None}}
    busy = {"error": {"message": "all places are taken", "code": "live_full", "param": None}}

    with serving(utter, (401, {}, wrong)) as server, pytest.raises(Unauthorized, match="not one of ours"):
        heard(server.url, ["Hello."])
    with serving(utter, (429, {"Retry-After": "0"}, busy)) as server:
        assert len(heard(server.url, ["Hello."])[0]) == 2


def test_a_refusal_within_the_conversation_is_raised_as_by_other_calls(heard: Hear) -> None:
    error = {"status": 422, "code": "invalid_request", "message": "speed is from 0.5 to 2", "param": "speed"}

    def refuse(served: Served) -> None:
        served.say("session.created", audio={"encoding": "pcm_s16le", "sample_rate": 24_000, "channels": 1})
        served.read()
        served.say("error", error=error)

    with serving(refuse) as server, pytest.raises(InvalidRequest, match=r"speed is from 0\.5 to 2") as refusal:
        heard(server.url, ["Hello."])

    assert refusal.value.violations[0].where == "speed"


def test_a_conversation_that_ends_too_early_is_a_server_that_is_gone(heard: Hear) -> None:
    def leave(served: Served) -> None:
        served.open()
        served.text()
        served.line.socket.close()

    with serving(leave) as server, pytest.raises(ServerUnreachable, match="the speech broke off before its end"):
        heard(server.url, ["Hello."])


def test_where_nothing_listens_the_server_is_unreachable(heard: Hear) -> None:
    with pytest.raises(ServerUnreachable):
        heard("http://127.0.0.1:9", ["Hello."])


@pytest.mark.parametrize("said", ['"hello"', "[]", "{", '{"type": 5}', '{"type": "session.created", "audio": 7}'])
def test_what_is_no_event_is_no_answer(heard: Hear, said: str) -> None:
    with serving(lambda served: served.line.send(said)) as server, pytest.raises(BadAnswer, match="no event"):
        heard(server.url, ["Hello."])
