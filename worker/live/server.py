"""The live server of a worker that speaks: a WebSocket server in its thread.

WebSocket of `websockets`, because it brings what a protocol of our own would have to: TLS by certificates, messages of
bounded size, signs of life both ways, and nothing between the two processes. ZeroMQ has no TLS; HTTP/2 in Python costs
more for each of the frames that a stream has 12 of in a second.
"""

from __future__ import annotations

import asyncio
import hmac
import http
import logging
import secrets
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.http11 import Request, Response

from storage.live.address import LiveAddress
from storage.live.messages import MAX_MESSAGE_BYTES
from storage.runtime.config.settings import SettingsError
from storage.runtime.watched import watched_thread
from worker.live.connection import LiveConnection
from worker.live.parts import LiveParts
from worker.live.places import LivePlaces

logger = logging.getLogger(__name__)

MAX_CONNECTIONS = 256
"""Of API processes, each of which has one."""

HANDSHAKE_S = 5.0
PING_EVERY_S, PING_PATIENCE_S = 5.0, 10.0
"""An API process that does not answer for so long has no listeners any more."""

HAND_OVER_S = 2.0
"""How long the last words to API processes may take."""

_LOOK_S = 0.05


@dataclass(frozen=True, slots=True)
class LiveBinding:
    """Where to listen, which is what is announced. port: 0 for any. tls: None for none. server_name: as of
    `LiveAddress`."""

    host: str = "127.0.0.1"
    port: int = 0
    tls: ssl.SSLContext | None = None
    server_name: str = ""


class LiveServer:
    """`start` before the first report to the worker registry, `close` before the engine's. Any thread may ask."""

    def __init__(
        self,
        parts: LiveParts,
        binding: LiveBinding,
        read_step_ms: Callable[[], float | None],
        num_places: int | None = None,
    ) -> None:
        """num_places: of the engine's live slots, where it shares them with others; None: all."""
        self._parts = parts
        self._binding = binding
        self._read_step_ms = read_step_ms
        self._token = secrets.token_urlsafe(32)
        self._places = LivePlaces(num_places or parts.engine.info.live_slots)
        self._connections: set[LiveConnection] = set()
        self._is_refusing = False
        self._loop = asyncio.new_event_loop()
        self._server: Server | None = None
        self._stopping = threading.Event()
        self._thread = watched_thread("live-server", self._run, self._stopping)

    def start(self) -> None:
        """Raises `SettingsError` where it cannot listen."""
        self._thread.start()
        try:
            self._server = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()
        except OSError as error:
            self._stop_loop()
            where = f"{self._binding.host}:{self._binding.port}"
            raise SettingsError(f"RHAPSODE_LIVE_HOST, RHAPSODE_LIVE_PORT: {where}: {error}") from error
        logger.info("live speech served", extra={"host": self._binding.host, "port": self._port})

    def addresses(self) -> tuple[LiveAddress, ...]:
        """Of this one server."""
        return (self.address(),)

    def address(self) -> LiveAddress:
        scheme = "ws" if self._binding.tls is None else "wss"
        host = f"[{self._binding.host}]" if ":" in self._binding.host else self._binding.host
        info = self._parts.engine.info
        return LiveAddress(
            url=f"{scheme}://{host}:{self._port}",
            token=self._token,
            live_slots=self._places.number,
            free=0 if self._is_refusing else self._places.free,
            revision=info.revision,
            step_ms=self._read_step_ms(),
            server_name=self._binding.server_name,
            is_strict=info.is_strict,
            streams=self.num_streams,
        )

    @property
    def num_places(self) -> int:
        return self._places.number

    @property
    def num_streams(self) -> int:
        return self._places.number - self._places.free

    def refuse_new(self, *, is_leaving: bool) -> None:
        """New streams, from now on or not any more; those that are under way go on."""
        self._is_refusing = is_leaving
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._follow_refusing)

    def refuse_if_idle(self) -> bool:
        """Refuse new streams if none is under way; whether that is so."""
        return asyncio.run_coroutine_threadsafe(self._refuse_if_idle(), self._loop).result()

    def close(self, grace_s: float = 0.0) -> None:
        """Streams end within the grace, or are handed over to other workers. Idempotent."""
        if not self._thread.is_alive():
            return
        self.refuse_new(is_leaving=True)
        asyncio.run_coroutine_threadsafe(self._end(grace_s), self._loop).result()
        self._stop_loop()

    # ------------------------------------------------------------------------------------------ the server's thread

    def _run(self) -> None:
        """Started again, it goes on in the same event loop, with the connections that are open."""
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    async def _listen(self) -> Server:
        return await serve(
            self._serve,
            self._binding.host,
            self._binding.port,
            ssl=self._binding.tls,
            process_request=self._admit,
            compression=None,
            max_size=MAX_MESSAGE_BYTES,
            open_timeout=HANDSHAKE_S,
            ping_interval=PING_EVERY_S,
            ping_timeout=PING_PATIENCE_S,
            close_timeout=HAND_OVER_S,
            server_header=None,
            logger=logging.getLogger("worker.live.websocket"),
        )

    def _admit(self, connection: ServerConnection, request: Request) -> Response | None:
        """None for one of our own; an answer for all others."""
        given = request.headers.get_all("Authorization")
        wanted = f"Bearer {self._token}"
        if len(given) != 1 or not hmac.compare_digest(given[0].encode(), wanted.encode()):
            return connection.respond(http.HTTPStatus.UNAUTHORIZED, "a token of this worker is needed\n")
        if len(self._connections) >= MAX_CONNECTIONS:
            return connection.respond(http.HTTPStatus.SERVICE_UNAVAILABLE, "too many connections\n")
        return None

    async def _serve(self, socket: ServerConnection) -> None:
        connection = LiveConnection(socket, self._parts, self._places, self._read_step_ms)
        connection.is_leaving = self._is_refusing
        self._connections.add(connection)
        try:
            await connection.serve()
        finally:
            self._connections.discard(connection)

    async def _refuse_if_idle(self) -> bool:
        """In the thread that lets streams in, so that none comes in between."""
        if self.num_streams:
            return False
        self._is_refusing = True
        self._follow_refusing()
        return True

    def _follow_refusing(self) -> None:
        for connection in self._connections:
            connection.is_leaving = self._is_refusing

    async def _end(self, grace_s: float) -> None:
        end_s = self._loop.time() + grace_s
        while self.num_streams and self._loop.time() < end_s:
            await asyncio.sleep(_LOOK_S)
        for connection in self._connections:
            connection.hand_over()
        with suppress(TimeoutError):
            async with asyncio.timeout(HAND_OVER_S):
                for connection in tuple(self._connections):
                    await connection.flushed()
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()
        # Connections that came while the server closed.
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)

    def _stop_loop(self) -> None:
        self._stopping.set()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def _port(self) -> int:
        if self._server is None:
            return self._binding.port
        return int(next(iter(self._server.sockets)).getsockname()[1])
