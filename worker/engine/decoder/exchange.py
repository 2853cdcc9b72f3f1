"""Messages over a WebSocket, both ways at once: of an engine and of a decoder worker alike. One event loop each."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from websockets.asyncio.connection import Connection
from websockets.exceptions import ConnectionClosed

from worker.engine.decoder.wire import Codebooks, decode, encode
from worker.process.children.channel import ChannelBroken, ChannelClosed

RELEASE_HEADER = "Rhapsode-Release"


class Outbox:
    """What waits to be sent. Any thread may put, also when nothing is sent any more."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: deque[object] = deque()
        self._has_some = asyncio.Event()

    def put(self, message: object) -> None:
        self._waiting.append(message)
        with suppress(RuntimeError):  # the loop is closed, which its reader sees as well
            self._loop.call_soon_threadsafe(self._has_some.set)

    async def send_all(self, connection: Connection) -> None:
        while True:
            await self._has_some.wait()
            self._has_some.clear()
            while self._waiting:
                await connection.send(encode(self._waiting.popleft()))


async def exchange(
    connection: Connection,
    outbox: Outbox,
    act: Callable[[object], None],
    patience_s: float | None = None,
    codebooks: Codebooks | None = None,
) -> None:
    """Send what is in the outbox, and call `act` with what comes, to the end of the connection.

    patience_s: for which the other side may be silent. codebooks: of codes that come. Raises OSError, and what `act`
    raises.
    """
    sending = asyncio.create_task(outbox.send_all(connection))
    try:
        while True:
            async with asyncio.timeout(patience_s):
                data = await connection.recv()
            if isinstance(data, str):
                raise ChannelBroken("not a message: a text")
            act(decode(data, codebooks))
    except ConnectionClosed as closed:
        raise ChannelClosed(str(closed)) from closed
    except TimeoutError as silent:
        connection.transport.abort()
        raise TimeoutError(f"nothing came for {patience_s:g} s") from silent
    finally:
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
