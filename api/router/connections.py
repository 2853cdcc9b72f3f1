"""Requests to one cell, over connections that are kept.

The wire is httpcore's, which this system sends webhooks with: HTTP/1.1 by h11, streams in both directions, cancelled
with the task. Its pool is not used: that walks all its connections at the begin and end of every request; here idle
ones lie on a stack. fastapi-proxy-lib and its like go through httpx, which has the same pool and makes objects of what
a proxy only passes on: header fields, cookies, encodings.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpcore

from api.router.cells import Cell

logger = logging.getLogger(__name__)

CONNECT_S = 2.0
"""A cell in another rack answers in milliseconds."""

IDLE_S = 3.0
"""Shorter than the five seconds after which a server closes one: it is not to close one that is just being used."""

KEPT = 512

SHUNNED_S = 1.0
"""So long after a connection was refused or ignored is no other tried: a host that is gone holds up no request."""

LOOK_S, LOOK_PATIENCE_S = 5.0, 5.0
"""From one look whether a cell answers to the next, and how long one takes at most. A host that is frozen goes on
taking connections, and a request may be held for minutes.
"""

_SOCKET_OPTIONS = [
    (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
    # A host that vanishes says nothing, and held answers are waited for without an end.
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *([(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 10)] if hasattr(socket, "TCP_KEEPIDLE") else []),
    *([(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 5)] if hasattr(socket, "TCP_KEEPINTVL") else []),
    *([(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3)] if hasattr(socket, "TCP_KEEPCNT") else []),
    *([(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 25_000)] if hasattr(socket, "TCP_USER_TIMEOUT") else []),
]

Headers = Sequence[tuple[bytes, bytes]]


class CellDown(Exception):
    """The cell does not answer, or broke off before its answer began."""

    def __init__(self, cell: str) -> None:
        super().__init__(f"the cell {cell} does not answer")
        self.cell = cell


@dataclass(frozen=True, slots=True)
class CellAnswer:
    """body: raises `CellDown` if the cell breaks off; to be read within the block that gave the answer."""

    status: int
    headers: Headers
    body: AsyncIterator[bytes]


class CellConnections:
    """For one event loop."""

    def __init__(self, cell: Cell, context: ssl.SSLContext) -> None:
        self.cell = cell
        self._url = httpcore.URL(cell.url)
        self._context = context
        self._idle: list[httpcore.AsyncHTTPConnection] = []
        self._shunned_until_s = 0.0

    @property
    def is_shunned(self) -> bool:
        return time.monotonic() < self._shunned_until_s

    @asynccontextmanager
    async def send(
        self, method: str, target: bytes, headers: Headers, body: AsyncIterator[bytes] | bytes = b""
    ) -> AsyncGenerator[CellAnswer]:
        """The answer as soon as it has begun. Raises `CellDown`. A block that is left early closes the connection."""
        if self.is_shunned:
            raise CellDown(self.cell.name)
        async with self._exchange(method, target, headers, body) as answer:
            yield answer

    async def watch(self) -> None:
        """Until it is cancelled: a cell that takes connections and answers nothing is shunned until it does."""
        while True:
            try:
                async with (
                    asyncio.timeout(LOOK_PATIENCE_S),
                    self._exchange("GET", b"/livez", [(b"host", b"localhost")]),
                ):
                    self._shunned_until_s = 0.0
            except TimeoutError:
                logger.warning("a cell answers nothing", extra={"cell": self.cell.name})
                self._shunned_until_s = time.monotonic() + LOOK_S + 2 * LOOK_PATIENCE_S
            except CellDown:
                # Requests find that out themselves, and when it is over.
                pass
            await asyncio.sleep(LOOK_S)

    @asynccontextmanager
    async def _exchange(
        self, method: str, target: bytes, headers: Headers, body: AsyncIterator[bytes] | bytes = b""
    ) -> AsyncGenerator[CellAnswer]:
        url = httpcore.URL(scheme=self._url.scheme, host=self._url.host, port=self._url.port, target=target)
        timeouts = {"connect": CONNECT_S, "write": None, "read": None, "pool": None}
        request = httpcore.Request(method, url, headers=headers, content=body, extensions={"timeout": timeouts})
        connection = await self._connection()
        try:
            response = await connection.handle_async_request(request)
        except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
            self._shunned_until_s = time.monotonic() + SHUNNED_S
            raise CellDown(self.cell.name) from error
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException) as error:
            await connection.aclose()
            raise CellDown(self.cell.name) from error
        except BaseException:
            await connection.aclose()
            raise
        try:
            yield CellAnswer(response.status, response.headers, self._parts(response))
        finally:
            # Ends the connection unless the answer was read to its end.
            await response.aclose()
            await self._keep(connection)

    async def close(self) -> None:
        while self._idle:
            await self._idle.pop().aclose()

    async def _parts(self, response: httpcore.Response) -> AsyncIterator[bytes]:
        try:
            async for part in response.aiter_stream():
                yield part
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException) as error:
            raise CellDown(self.cell.name) from error

    async def _connection(self) -> httpcore.AsyncHTTPConnection:
        while self._idle:
            connection = self._idle.pop()
            if not connection.has_expired():
                return connection
            await connection.aclose()
        return httpcore.AsyncHTTPConnection(
            self._url.origin, self._context, keepalive_expiry=IDLE_S, socket_options=_SOCKET_OPTIONS
        )

    async def _keep(self, connection: httpcore.AsyncHTTPConnection) -> None:
        if connection.is_idle() and len(self._idle) < KEPT:
            self._idle.append(connection)
        else:
            await connection.aclose()
