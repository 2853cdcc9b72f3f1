"""One connection to a decoder worker, seen from the engine: in the place of a `DecoderChild`."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidHandshake, InvalidStatus

from worker.engine.decoder.exchange import RELEASE_HEADER, Outbox, exchange
from worker.engine.decoder.protocol import RELEASE, FromDecoder, ToDecoder
from worker.engine.decoder.wire import MAX_SAMPLES_BYTES
from worker.engine.errors import StartError
from worker.engine.settings import DecoderAddress
from worker.process.children.channel import ChannelClosed

_CONNECT_S = 5.0
_CLOSE_S = 0.5
_PATIENCE_S = 5.0
"""Without a heartbeat, before the connection counts as cut. A process of the same host has more: it may still load."""
_FULL = 503


class DecoderLink:
    """`run` it once, in the thread that made it. Any thread may `send` and `hang_up`."""

    def __init__(self, address: DecoderAddress) -> None:
        self._address = address
        self._loop = asyncio.new_event_loop()
        self._outbox = Outbox(self._loop)
        self._task: asyncio.Task[None] | None = None
        self._is_over = False

    def __str__(self) -> str:
        return "connected"

    def send(self, message: ToDecoder) -> None:
        """Never waits. What cannot be sent any more is forgotten: the reader sees the end as well."""
        self._outbox.put(message)

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
            self._loop.call_soon_threadsafe(self._cancel)

    def end(self) -> str:
        return "the connection is lost"

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _talk(self, act: Callable[[FromDecoder], None]) -> None:
        if self._is_over:
            return
        async with _connected(self._address) as connection:
            await exchange(connection, self._outbox, act, _PATIENCE_S)  # pyright: ignore[reportArgumentType]


@asynccontextmanager
async def _connected(address: DecoderAddress) -> AsyncGenerator[ClientConnection]:
    """Raises StartError, OSError."""
    try:
        connection = await connect(
            address.url,
            ssl=ssl.create_default_context(cafile=address.authorities) if address.url.startswith("wss:") else None,
            additional_headers={"Authorization": f"Bearer {address.token}", RELEASE_HEADER: RELEASE.hex()},
            compression=None,
            proxy=None,
            open_timeout=_CONNECT_S,
            close_timeout=_CLOSE_S,
            ping_interval=None,
            max_size=MAX_SAMPLES_BYTES,
        )
    except InvalidStatus as refused:
        status, body = refused.response.status_code, bytes(refused.response.body or b"")
        text = f"{status}: {body[:200].decode(errors='replace').strip()}"
        raise ConnectionRefusedError(text) if status == _FULL else _refusal(address, text) from refused
    except ssl.SSLCertVerificationError as error:
        hint = "RHAPSODE_TLS_CA names the authorities to trust"
        raise _refusal(address, f"its certificate is not accepted: {error.verify_message}; {hint}") from error
    except InvalidHandshake as error:
        raise ConnectionError(f"no decoder worker answers: {error}") from error
    async with connection:
        yield connection


def _refusal(address: DecoderAddress, text: str) -> StartError:
    return StartError(f"RHAPSODE_DECODER_DEVICE: {address}: {text}")
