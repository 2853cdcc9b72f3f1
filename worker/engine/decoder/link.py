"""Messages over a WebSocket, and the engine's end of one to a decoder worker, in the place of a `DecoderChild`."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from contextlib import suppress

from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.connection import Connection
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus

from worker.engine.decoder.protocol import RELEASE, FromDecoder, ToDecoder
from worker.engine.decoder.wire import MAX_SAMPLES_BYTES, Codebooks, decode, encode
from worker.engine.errors import StartError
from worker.engine.settings import DecoderAddress
from worker.process.children.channel import ChannelBroken, ChannelClosed

RELEASE_HEADER = "Rhapsode-Release"
CLOSE_S = 0.5
_CONNECT_S = 5.0
_PING_EVERY_S, _PING_PATIENCE_S = 1.0, 4.0
"""A connection without an answer counts as cut: listeners wait for its samples."""


class Exchange:
    """Both directions of a connection, in the event loop of the thread that makes it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._outbox: asyncio.Queue[object] = asyncio.Queue()

    def put(self, message: object) -> None:
        """To be sent, without waiting. From any thread, also when nothing is sent any more."""
        with suppress(RuntimeError):  # the loop is closed, which its reader sees as well
            self._loop.call_soon_threadsafe(self._outbox.put_nowait, message)

    async def run(
        self, connection: Connection, act: Callable[[object], None], codebooks: Codebooks | None = None
    ) -> None:
        """Calls `act` with each message. codebooks: see `decode`. Raises OSError, and what `act` raises."""
        sending = asyncio.create_task(self._send_all(connection))
        try:
            while True:
                data = await connection.recv()
                if isinstance(data, str):
                    raise ChannelBroken("not a message: a text")
                act(decode(data, codebooks))
        except ConnectionClosed as closed:
            raise ChannelClosed(str(closed)) from closed
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)

    async def _send_all(self, connection: Connection) -> None:
        while True:
            await connection.send(encode(await self._outbox.get()))


class DecoderLink:
    """`run` it once, in the thread that made it. Any thread may `send`, without waiting, and `hang_up`."""

    def __init__(self, address: DecoderAddress) -> None:
        self._address = address
        self._loop = asyncio.new_event_loop()
        self._exchange = Exchange(self._loop)
        self._task: asyncio.Task[None] | None = None
        self._is_over = False

    def __str__(self) -> str:
        return "connected"

    def send(self, message: ToDecoder) -> None:
        self._exchange.put(message)

    def run(self, act: Callable[[FromDecoder], None]) -> None:
        """Calls `act` with each message. Raises `StartError` for what another try does not mend, else `OSError`."""
        self._task = self._loop.create_task(self._talk(act))
        try:
            self._loop.run_until_complete(self._task)
        except asyncio.CancelledError as cancelled:
            raise ChannelClosed("hung up") from cancelled
        finally:
            self._loop.close()

    def hang_up(self) -> None:
        self._is_over = True
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(lambda: self._task and self._task.cancel())

    def end(self) -> str:
        return "no connection"

    async def _talk(self, act: Callable[[FromDecoder], None]) -> None:
        if not self._is_over:
            async with await _connected(self._address) as connection:
                await self._exchange.run(connection, act)  # pyright: ignore[reportArgumentType]


async def _connected(address: DecoderAddress) -> ClientConnection:
    """Raises StartError, OSError."""
    try:
        return await connect(
            address.url,
            ssl=ssl.create_default_context(cafile=address.authorities) if address.url.startswith("wss:") else None,
            additional_headers={"Authorization": f"Bearer {address.token}", RELEASE_HEADER: RELEASE.hex()},
            compression=None,
            proxy=None,
            open_timeout=_CONNECT_S,
            close_timeout=CLOSE_S,
            ping_interval=_PING_EVERY_S,
            ping_timeout=_PING_PATIENCE_S,
            max_size=MAX_SAMPLES_BYTES,
        )
    except InvalidStatus as refused:
        complaint = bytes(refused.response.body or b"")[:200].decode(errors="replace").strip()
        raise StartError(f"RHAPSODE_DECODER_DEVICE: {address}: {complaint}") from refused
    except ssl.SSLCertVerificationError as error:
        complaint = f"its certificate is not accepted: {error.verify_message}; RHAPSODE_TLS_CA names who may issue it"
        raise StartError(f"RHAPSODE_DECODER_DEVICE: {address}: {complaint}") from error
    except InvalidHandshake as error:
        raise ConnectionError(f"no decoder worker answers: {error}") from error
