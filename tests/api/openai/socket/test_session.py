"""A connection from its handshake to its closing code, on real sockets."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

from api.openai.socket.actions import ProtocolMachine
from api.openai.socket.nari import NariMachine
from api.openai.socket.session import MAX_PUT_OFF
from api.openai.socket.streaming_text import StreamingTextMachine
from api.openai.socket.waits import MessageTimeouts
from rhapsode.contract.speech_socket import MAX_PIECE_BYTES, MAX_START_BYTES, NARI
from tests.api.openai.socket.served_session import Voices, served

START = {"type": "request.start", "voice": "Ryan"}
CANCEL = {"type": "response.cancel"}
WAIT_S = 60

Scenario = Callable[[ClientConnection, Voices], Awaitable[None]]


def append(sequence: int, text: str) -> dict[str, Any]:
    return {"type": "input_text.append", "sequence": sequence, "text": text}


def end(sequence: int) -> dict[str, Any]:
    return {"type": "input_text.end", "sequence": sequence}


def play(
    scenario: Scenario,
    patience: MessageTimeouts | None = None,
    make_machine: Callable[[], ProtocolMachine] = lambda: NariMachine(24_000),
) -> Voices:
    """Connect, and act. What was spoken is the answer."""

    async def run() -> Voices:
        voices = Voices()
        async with asyncio.timeout(WAIT_S), served(voices, patience, make_machine) as url:
            async with connect(url, subprotocols=[Subprotocol(NARI)], max_size=None) as client:
                assert client.protocol.extensions == [], "messages are compressed"
                await scenario(client, voices)
            await until(lambda: all(each.end for each in voices.spoken))
        return voices

    return asyncio.run(run())


async def until(is_so: Callable[[], bool]) -> None:
    while not is_so():
        await asyncio.sleep(0.005)


async def say(client: ClientConnection, *messages: dict[str, Any]) -> None:
    for message in messages:
        await client.send(json.dumps(message))


async def heard(client: ClientConnection, last: str) -> list[Any]:
    """Events, and audio as bytes, up to the first event of this type."""
    found: list[Any] = []
    while True:
        message = await client.recv()
        found.append(message if isinstance(message, bytes) else json.loads(message))
        if isinstance(message, str) and found[-1]["type"] == last:
            return found


async def closing(client: ClientConnection) -> tuple[int, str]:
    await client.wait_closed()
    assert client.close_code is not None
    assert client.close_reason is not None
    return client.close_code, client.close_reason


def kinds(messages: list[Any]) -> list[str]:
    return ["audio" if isinstance(each, bytes) else each["type"] for each in messages]


def test_a_request_is_spoken_while_its_text_comes() -> None:
    async def scenario(client: ClientConnection, _: Voices) -> None:
        await say(client, START, append(0, "One "))
        # Before the text has ended.
        first = await heard(client, "response.started")
        assert isinstance(await client.recv(), bytes | str)
        await say(client, append(1, "two."), end(2))
        rest = await heard(client, "response.done")
        assert kinds(first)[:2] == ["session.created", "request.configured"]
        assert rest[-1]["audio_chunks"] == 2
        assert await closing(client) == (1000, "response.done")

    [spoken] = play(scenario).spoken
    assert (spoken.text, spoken.end) == ("One two.", "done")


def test_text_is_acknowledged_while_a_place_is_looked_for() -> None:
    async def scenario(client: ClientConnection, voices: Voices) -> None:
        voices.hold.clear()
        await say(client, START, append(0, "One "), append(1, "two."), end(2))
        acknowledged = [(await heard(client, "input_text.ack"))[-1]["sequence"] for _ in range(3)]
        assert acknowledged == [0, 1, 2]
        voices.hold.set()
        assert kinds(await heard(client, "response.done")) == ["response.started", "audio", "audio", "response.done"]

    assert [each.text for each in play(scenario).spoken] == ["One two."]


def test_after_a_cancellation_nothing_more_is_heard() -> None:
    async def scenario(client: ClientConnection, _: Voices) -> None:
        await say(client, START, append(0, "One "))
        await heard(client, "response.started")
        await say(client, CANCEL)
        last = await heard(client, "response.done")
        assert last[-1]["stop_reason"] == "cancelled"
        assert (await closing(client))[0] == 1000

    assert [each.end for each in play(scenario).spoken] == ["cancelled"]


def test_a_client_that_goes_frees_the_place() -> None:
    async def scenario(client: ClientConnection, _: Voices) -> None:
        await say(client, START, append(0, "One "))
        await heard(client, "response.started")
        client.transport.abort()

    assert [each.end for each in play(scenario).spoken] == ["cancelled"]


def test_requests_that_were_sent_at_once_are_spoken_one_after_the_other() -> None:
    async def scenario(client: ClientConnection, _: Voices) -> None:
        start = {**START, "keep_open": True}
        for text in ("One", "Two", "Three"):
            await say(client, start, append(0, text), end(1))
        rounds = [await heard(client, "response.done") for _ in range(3)]
        audio = [[each for each in messages if isinstance(each, bytes)] for messages in rounds]
        assert audio == [[b"One"], [b"Two"], [b"Three"]]

    assert [each.end for each in play(scenario).spoken] == ["done"] * 3


def test_what_comes_behind_a_cancelled_request_is_spoken() -> None:
    async def scenario(client: ClientConnection, voices: Voices) -> None:
        start = {**START, "keep_open": True}
        voices.hold.clear()
        await say(client, start, append(0, "One"), end(1), start, append(0, "Two"), end(1), CANCEL)
        assert (await heard(client, "response.done"))[-1]["stop_reason"] == "cancelled"
        voices.hold.set()
        assert b"Two" in await heard(client, "response.done")

    assert [each.end for each in play(scenario).spoken] == ["cancelled", "done"]


def test_who_asks_for_far_more_than_is_spoken_is_sent_away() -> None:
    async def scenario(client: ClientConnection, voices: Voices) -> None:
        voices.hold.clear()
        await say(client, {**START, "keep_open": True}, append(0, "One"), end(1))
        await say(client, *([START] * (MAX_PUT_OFF + 1)))
        code, reason = await closing(client)
        assert code == 1008
        assert "too much of the next request" in reason

    assert [each.end for each in play(scenario).spoken] == ["cancelled"]


@pytest.mark.parametrize(
    ("message", "code", "says"),
    [
        ("{", 1008, "not JSON"),
        ("[]", 1008, "JSON object"),
        ('{"type": "a", "type": "b"}', 1008, "twice"),
        ("", 1008, "JSON"),
        ("[" * 1000, 1008, "nested"),
        (b"\x00\x01", 1003, "binary"),
        (json.dumps(append(0, "a" * MAX_PIECE_BYTES)), 1009, "payload_too_large"),
        ("x" * (MAX_START_BYTES + 1), 1009, ""),
    ],
)
def test_what_is_no_message_is_told_with_the_reason_in_the_closing(message: str | bytes, code: int, says: str) -> None:
    async def scenario(client: ClientConnection, _: Voices) -> None:
        await client.send(message)
        found, reason = await closing(client)
        assert found == code
        assert says in reason

    play(scenario)


def test_a_message_in_fragments_is_one_message() -> None:
    async def scenario(client: ClientConnection, _: Voices) -> None:
        await say(client, START)
        text = json.dumps(append(0, "One"))
        await client.send([text[:7], text[7:20], text[20:]])
        await say(client, end(1))
        await heard(client, "response.done")

    assert [each.text for each in play(scenario).spoken] == ["One"]


def test_a_writer_who_falls_silent_gives_the_place_back() -> None:
    async def scenario(client: ClientConnection, _: Voices) -> None:
        await say(client, START, append(0, "One "))
        messages = await heard(client, "error")
        assert messages[-1]["error"]["code"] == "input_timeout"
        assert await closing(client) == (1008, "input_timeout: nothing came for too long")

    assert [each.end for each in play(scenario, MessageTimeouts(text_s=0.2)).spoken] == ["cancelled"]


def test_a_writer_who_sends_a_word_now_and_then_does_not_hold_the_place_for_ever() -> None:
    async def scenario(client: ClientConnection, _: Voices) -> None:
        await say(client, START, append(0, "One "))
        for sequence in itertools.count(1):
            await asyncio.sleep(0.1)
            try:
                await say(client, append(sequence, "word "))
            except ConnectionClosed:
                break
        assert client.close_reason == "input_timeout: the text had no end after 0.5 s"
        assert client.close_code == 1008

    assert [each.end for each in play(scenario, MessageTimeouts(text_s=30.0, whole_text_s=0.5)).spoken] == ["cancelled"]


def test_a_connection_that_is_as_old_as_it_may_be_ends_behind_its_request() -> None:
    start = {**START, "keep_open": True}

    async def scenario(client: ClientConnection, _: Voices) -> None:
        await say(client, start, append(0, "One"))
        messages = await heard(client, "session.ending")
        assert messages[-1]["code"] == "connection_expired"
        await say(client, append(1, " two."), end(2))
        assert (await heard(client, "response.done"))[-1]["stop_reason"] == "stop"
        assert await closing(client) == (1001, "connection_expired: a WebSocket stays open for 0.3 s; open another")

    assert [each.text for each in play(scenario, MessageTimeouts(connection_s=0.3)).spoken] == ["One two."]


@pytest.mark.parametrize("machine", [lambda: NariMachine(24_000), StreamingTextMachine])
def test_a_connection_that_is_as_old_as_it_may_be_is_closed_where_nothing_is_spoken(
    machine: Callable[[], ProtocolMachine],
) -> None:
    async def scenario(client: ClientConnection, _: Voices) -> None:
        assert (await closing(client))[0] == 1001

    play(scenario, MessageTimeouts(connection_s=0.05), machine)


@pytest.mark.parametrize("machine", [lambda: NariMachine(24_000), StreamingTextMachine])
def test_a_client_that_says_nothing_is_not_waited_for(machine: Callable[[], ProtocolMachine]) -> None:
    async def scenario(client: ClientConnection, _: Voices) -> None:
        assert (await closing(client))[0] == 1008

    play(scenario, MessageTimeouts(start_s=0.05), machine)


def test_vllm_omnis_session_speaks_utterance_after_utterance() -> None:
    async def scenario(client: ClientConnection, _: Voices) -> None:
        await say(client, {"type": "session.config", "response_format": "pcm", "stream_audio": True})
        for text in ("One", "Two"):
            await say(client, {"type": "input.text", "text": text}, {"type": "input.done"})
        await say(client, {"type": "session.close"})
        for index, text in enumerate((b"One", b"Two")):
            messages = await heard(client, "session.done")
            assert kinds(messages) == ["audio.start", "audio", "audio.done", "session.done"]
            assert (messages[1], messages[3]["utterance_index"]) == (text, index)
        assert await closing(client) == (1000, "session.close")

    play(scenario, make_machine=StreamingTextMachine)


def test_what_is_no_utf8_is_no_text() -> None:
    async def scenario(client: ClientConnection, _: Voices) -> None:
        await client.send(b"\xff{}", text=True)
        assert await closing(client) == (1007, "a text is UTF-8")

    play(scenario)
