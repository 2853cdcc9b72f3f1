"""The synchronous client's speech of a text that is still being written, over TLS: one thread uses the connection."""

from __future__ import annotations

import asyncio
import signal
import ssl
import threading
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection

from rhapsode import InvalidRequest, Rhapsode
from tests.rhapsode.client.live.encrypted_server import open_speech, pieces_of, say, serving_encrypted
from tests.rhapsode.client.live.socket_server import FRAME
from tests.security.tls_servers import Authority
from tests.threads import BoundedExecutor, join_in_time

PATIENCE_S = 60.0
NUM_PIECES = 20
NUM_CONVERSATIONS = 50
NUM_CALLERS = 4
LARGE_FRAME = bytes(1 << 20)
MANY_FRAMES = 300


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Authority:
    """One that the client trusts."""
    authority = Authority.made_in(tmp_path / "authority")
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.ca))
    return authority


async def speak_each_piece(line: ServerConnection) -> None:
    """Samples for each piece, while more pieces come."""
    await open_speech(line)
    async for _ in pieces_of(line):
        await line.send(FRAME)
    await say(line, "response.done", request_id="r", stop_reason="stop", audio_chunks=NUM_PIECES)


def written() -> Iterator[str]:
    for number in range(NUM_PIECES):
        yield f"word{number} "


def test_many_short_conversations_are_heard_whole(authority: Authority) -> None:
    def converse(url: str) -> list[list[bytes]]:
        with Rhapsode(url) as client:
            return [[chunk.pcm for chunk in client.stream_speech(written())] for _ in range(NUM_CONVERSATIONS)]

    with serving_encrypted(authority, speak_each_piece) as url, BoundedExecutor(NUM_CALLERS) as executor:
        heard = [executor.submit(converse, url) for _ in range(NUM_CALLERS)]

    assert [each.result(0) for each in heard] == [[[FRAME] * NUM_PIECES] * NUM_CONVERSATIONS] * NUM_CALLERS
    assert not threads_called("rhapsode-speech")


def test_one_thread_uses_the_connection(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    users: defaultdict[ssl.SSLObject, set[threading.Thread]] = defaultdict(set)

    class Watched(ssl.SSLObject):
        def read(self, len: int = 1024, buffer: Any = None) -> Any:
            users[self].add(threading.current_thread())
            return super().read(len, buffer)

        def write(self, data: Any) -> int:
            users[self].add(threading.current_thread())
            return super().write(data)

    monkeypatch.setattr(ssl.SSLContext, "sslobject_class", Watched)
    with serving_encrypted(authority, speak_each_piece) as url, Rhapsode(url) as client:
        assert sum(1 for _ in client.stream_speech(written())) == NUM_PIECES

    by_server_and_client = [[thread.name for thread in threads] for threads in users.values()]
    assert len(by_server_and_client) == 2
    assert ["rhapsode-speech"] in by_server_and_client
    assert all(len(names) == 1 for names in by_server_and_client)


def test_a_conversation_that_is_closed_early_leaves_no_thread(authority: Authority) -> None:
    is_gone, may_go_on = threading.Event(), threading.Event()
    before = threads_called("rhapsode-text")

    async def speak_until_they_go(line: ServerConnection) -> None:
        await open_speech(line)
        await anext(pieces_of(line))
        await line.send(FRAME)
        await line.wait_closed()
        is_gone.set()

    def text() -> Iterator[str]:
        yield "The "
        may_go_on.wait()
        yield "wind."

    with serving_encrypted(authority, speak_until_they_go) as url, Rhapsode(url) as client:
        with client.stream_speech(text()) as stream:
            next(stream)
            (reader,) = (thread for thread in threads_called("rhapsode-text") if thread not in before)

        assert not threads_called("rhapsode-speech")
        assert is_gone.wait(PATIENCE_S)
    may_go_on.set()
    join_in_time(reader)


def test_an_interrupted_caller_leaves_the_server_and_no_thread(authority: Authority) -> None:
    is_gone = threading.Event()

    async def interrupt(line: ServerConnection) -> None:
        await open_speech(line)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        await line.wait_closed()
        is_gone.set()

    with serving_encrypted(authority, interrupt) as url, Rhapsode(url) as client:
        with pytest.raises(KeyboardInterrupt), client.stream_speech(written()) as stream:
            next(stream)

        assert is_gone.wait(PATIENCE_S)
    assert not threads_called("rhapsode-speech")


def test_an_error_of_the_server_in_mid_speech_is_raised(authority: Authority) -> None:
    error = {"status": 422, "code": "invalid_request", "message": "a piece is too long", "param": "text"}

    async def refuse_the_second_piece(line: ServerConnection) -> None:
        await open_speech(line)
        await anext(pieces_of(line))
        await line.send(FRAME)
        await say(line, "error", error=error)
        await line.wait_closed()

    with serving_encrypted(authority, refuse_the_second_piece) as url, Rhapsode(url) as client:
        stream = client.stream_speech(written())
        assert next(stream).pcm == FRAME
        with pytest.raises(InvalidRequest, match="a piece is too long"):
            next(stream)

    assert not threads_called("rhapsode-speech")


def test_an_error_of_the_text_is_raised(authority: Authority) -> None:
    failure = LookupError("the model has gone")

    def text() -> Iterator[str]:
        yield "The "
        raise failure

    with (
        serving_encrypted(authority, speak_each_piece) as url,
        Rhapsode(url) as client,
        pytest.raises(LookupError) as raised,
    ):
        list(client.stream_speech(text()))

    assert raised.value is failure
    assert not threads_called("rhapsode-speech")


def test_a_caller_who_does_not_read_on_holds_up_the_server(authority: Authority) -> None:
    num_sent: list[int] = []
    is_held_up = threading.Event()

    async def speak_too_much(line: ServerConnection) -> None:
        await open_speech(line)
        for number in range(MANY_FRAMES):
            try:
                await asyncio.wait_for(line.send(LARGE_FRAME), 2.0)
            except TimeoutError:
                num_sent.append(number)
                break
        is_held_up.set()
        await line.wait_closed()

    with (
        serving_encrypted(authority, speak_too_much) as url,
        Rhapsode(url) as client,
        client.stream_speech(written()) as stream,
    ):
        next(stream)
        assert is_held_up.wait(PATIENCE_S)

    assert num_sent
    assert num_sent[0] < MANY_FRAMES // 2


def threads_called(name: str) -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == name]
