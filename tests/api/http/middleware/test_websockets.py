"""Pings of a server, and clients that answer none."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import os

import pytest

from api.http.connection_shares import ConnectionShares
from api.http.middleware import connections
from api.http.middleware import websockets as middleware
from api.http.open_sockets import OpenSockets
from rhapsode.contract.speech_socket import NARI
from tests.api.openai.socket.served_session import Voices, served

PING_S = PONG_S = 0.1
GONE = 1011
VIOLATION = 1008


@pytest.fixture(autouse=True)
def frequent_pings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(middleware, "PONG_S", PONG_S)
    monkeypatch.setitem(middleware.OPTIONS, "ws_ping_interval", PING_S)
    monkeypatch.setitem(middleware.OPTIONS, "ws_ping_timeout", PONG_S)


def test_a_client_that_says_something_is_there_though_its_pong_was_not_read_yet() -> None:
    async def talk() -> None:
        async with asyncio.timeout(60), served(Voices()) as url:
            reader, writer = await _connect(url)
            _say(writer, {"type": "request.start"})
            for sequence in range(40):
                _say(writer, {"type": "input_text.append", "sequence": sequence, "text": " "})
                await asyncio.sleep(PONG_S / 4)
            acknowledged = 0
            while acknowledged < 40:
                kind, payload = await _frame(reader)
                assert kind != 0x88
                acknowledged += kind == 0x81 and json.loads(payload)["type"] == "input_text.ack"
            writer.close()

    asyncio.run(talk())


def test_a_client_that_says_nothing_and_answers_no_ping_is_let_go() -> None:
    async def be_silent() -> None:
        async with asyncio.timeout(60), served(Voices()) as url:
            reader, writer = await _connect(url)
            kind, payload = await _frame(reader)
            while kind != 0x88:
                kind, payload = await _frame(reader)
            assert int.from_bytes(payload[:2], "big") == GONE
            writer.close()

    asyncio.run(be_silent())


async def _connect(url: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await _ask(url)
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 101")
    return reader, writer


async def _ask(url: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    address, _, path = url.removeprefix("ws://").partition("/")
    host, _, port = address.partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    key = base64.b64encode(os.urandom(16)).decode()
    lines = [
        f"GET /{path} HTTP/1.1",
        f"Host: {address}",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        f"Sec-WebSocket-Key: {key}",
        f"Sec-WebSocket-Protocol: {NARI}",
    ]
    writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
    return reader, writer


def _say(writer: asyncio.StreamWriter, message: dict[str, object]) -> None:
    """A masked text frame of less than 126 bytes, whose mask changes nothing."""
    payload = json.dumps(message).encode()
    writer.write(bytes((0x81, 0x80 | len(payload))) + bytes(4) + payload)


async def _frame(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    kind, length = await reader.readexactly(2)
    size = int.from_bytes(await reader.readexactly(2), "big") if length == 126 else length
    return kind, await reader.readexactly(size)


FLOODS = {
    "pings": bytes((0x89, 0x80)) + bytes(4),
    "pongs": bytes((0x8A, 0x80)) + bytes(4),
    "empty texts": bytes((0x81, 0x80)) + bytes(4),
    "empty fragments": bytes((0x01, 0x80)) + bytes(4),
}


@pytest.mark.parametrize("kind", FLOODS)
def test_a_flood_of_frames_that_bring_nothing_is_closed_with_its_reason(kind: str) -> None:
    frame = FLOODS[kind]

    async def flood() -> None:
        async with asyncio.timeout(60), served(Voices()) as url:
            reader, writer = await _connect(url)
            # Fragments after the first continue its message.
            following = bytes((0x00,)) + frame[1:] if kind == "empty fragments" else frame
            writer.write(frame + following * 20_000)
            code, reason = await _closed(reader)
            assert code == VIOLATION
            # The session refuses the first empty text itself.
            assert ("JSON" if kind == "empty texts" else "frames") in reason
            writer.close()

    asyncio.run(flood())


def test_many_small_messages_are_slowed_down_and_none_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(middleware, "FRAMES_PER_S", 100.0)
    monkeypatch.setattr(middleware, "FRAMES_AT_ONCE", 100)
    number = 250

    async def talk() -> float:
        async with asyncio.timeout(60), served(Voices()) as url:
            reader, writer = await _connect(url)
            began_s = asyncio.get_running_loop().time()
            _say(writer, {"type": "request.start"})
            for sequence in range(number):
                _say(writer, {"type": "input_text.append", "sequence": sequence, "text": " "})
            await writer.drain()
            acknowledged = 0
            while acknowledged < number:
                kind, payload = await _frame(reader)
                assert kind != 0x88
                acknowledged += kind == 0x81 and json.loads(payload)["type"] == "input_text.ack"
            writer.close()
            return asyncio.get_running_loop().time() - began_s

    # 100 of them may come at once.
    assert asyncio.run(talk()) > 1.0


def test_the_sockets_of_a_tenant_share_one_budget() -> None:
    sockets = OpenSockets(ConnectionShares(10))
    with sockets.place("a") as first, sockets.place("a") as second, sockets.place("b") as other:
        assert first.frames is second.frames
        assert other.frames is not first.frames


def test_many_handshakes_at_once_have_their_turns_and_are_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other requests have theirs between them. Who hangs up while it waits holds up nobody."""
    monkeypatch.setattr(connections, "HANDSHAKES_PER_S", 50.0)
    number = 30

    async def come() -> float:
        async with asyncio.timeout(60), served(Voices()) as url:
            began_s = asyncio.get_running_loop().time()
            coming = [asyncio.create_task(_connect(url)) for _ in range(number)]
            for _, writer in [await _ask(url) for _ in range(number)]:
                writer.close()
                await writer.wait_closed()
            opened = await asyncio.gather(*coming)
            took_s = asyncio.get_running_loop().time() - began_s
            for _, writer in opened:
                _say(writer, {"type": "request.start"})
            for reader, writer in opened:
                assert (await _frame(reader))[0] != 0x88
                writer.close()
            return took_s

    # One or two at once, and the others one by one.
    assert asyncio.run(come()) > (number - 2) / 50.0


def test_a_handshake_is_no_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """A flood of them would fill the disk, and each line takes as long as much of the handshake."""

    async def come() -> None:
        async with asyncio.timeout(60), served(Voices()) as url:
            # Uvicorn removes what handled its records before it started.
            server.addHandler(caplog.handler)
            server.setLevel(logging.INFO)
            _, writer = await _connect(url)
            writer.close()

    server = logging.getLogger("uvicorn.error")
    asyncio.run(come())
    server.removeHandler(caplog.handler)

    assert [each for each in caplog.messages if "connection" in each] == []


async def _closed(reader: asyncio.StreamReader) -> tuple[int, str]:
    kind, payload = await _frame(reader)
    while kind != 0x88:
        kind, payload = await _frame(reader)
    return int.from_bytes(payload[:2], "big"), payload[2:].decode()
