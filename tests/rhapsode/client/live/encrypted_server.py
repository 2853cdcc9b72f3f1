"""A WebSocket server behind TLS. It runs on an event loop, so that one thread uses each connection."""

from __future__ import annotations

import asyncio
import json
import ssl
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from concurrent.futures import Future
from contextlib import contextmanager

from websockets.asyncio.server import ServerConnection, serve
from websockets.typing import Subprotocol

from rhapsode.contract.speech_socket import NARI
from tests.rhapsode.client.live.socket_server import AUDIO
from tests.security.tls_servers import Authority
from tests.threads import join_in_time

Script = Callable[[ServerConnection], Awaitable[None]]


async def say(line: ServerConnection, kind: str, **fields: object) -> None:
    await line.send(json.dumps({"type": kind, **fields}))


async def open_speech(line: ServerConnection) -> None:
    """To the point where the client sends text and the server sends samples."""
    await say(line, "session.created", protocol=NARI, audio=AUDIO)
    assert json.loads(await line.recv())["type"] == "request.start"
    await say(line, "request.configured", model="small_voice", voice="slt")
    await say(line, "response.started", request_id="r", audio=AUDIO)


async def pieces_of(line: ServerConnection) -> AsyncIterator[str]:
    """The text, each piece acknowledged, up to its end."""
    while (message := json.loads(await line.recv()))["type"] != "input_text.end":
        await say(line, "input_text.ack", event=message["type"], sequence=message["sequence"])
        yield message["text"]


@contextmanager
def serving_encrypted(authority: Authority, script: Script) -> Generator[str]:
    """The server's https:// URL."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(authority.certificate, authority.key)
    port: Future[int] = Future()
    runner, over = asyncio.Runner(loop_factory=asyncio.new_event_loop), asyncio.Event()
    loop = runner.get_loop()

    async def serve_until_over() -> None:
        nari = [Subprotocol(NARI)]
        async with serve(script, "127.0.0.1", 0, ssl=context, subprotocols=nari, compression=None) as server:
            port.set_result(next(iter(server.sockets)).getsockname()[1])
            await over.wait()

    def run() -> None:
        with runner:
            runner.run(serve_until_over())

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield f"https://localhost:{port.result(60.0)}"
    finally:
        loop.call_soon_threadsafe(over.set)
        join_in_time(thread)
