"""A request to a cell and its answer back, piece by piece: nothing is kept whole, and a client that goes cancels.

Names and values pass as they came, but for what is about one connection (RFC 9110, 7.6.1). The cell sees the Host that
the client asked for, so that its links lead back here, and by X-Forwarded-For and -Proto who asked and how: what came
under those names ends here, unless it is from a proxy that the server trusts, which has read it then.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable

from starlette.types import Receive, Scope, Send

from api.http.middleware.request_boundary import HEADER as REQUEST_ID
from api.http.middleware.request_boundary import request_id_of
from api.router.connections import CellAnswer, CellConnections, Headers

_ONE_CONNECTION = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
    }
    | {b"transfer-encoding", b"upgrade"}
)

_SAID_ANEW = frozenset(
    {b"expect", b"forwarded", b"x-forwarded-for", b"x-forwarded-host", b"x-forwarded-proto", REQUEST_ID}
)

CELL = b"rhapsode-cell"
"""Of a request: the cell that it is for. Of an answer: the one that gave it."""


async def forward(connections: CellConnections, scope: Scope, receive: Receive, send: Send) -> None:
    """Raises `CellDown` if nothing of an answer has been sent; an answer that breaks off is broken off here."""
    framing = {name for name, _ in scope["headers"]} & {b"content-length", b"transfer-encoding"}
    headers = request_headers(scope)
    if b"transfer-encoding" in framing:
        headers.append((b"transfer-encoding", b"chunked"))
    body = _Body(receive, is_empty=not framing)
    exchange = asyncio.create_task(_exchange(connections, scope, headers, body.parts() if framing else b"", send))
    gone = asyncio.create_task(body.until_gone())
    try:
        await asyncio.wait({exchange, gone}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        gone.cancel()
        if not exchange.done():
            exchange.cancel()
        await asyncio.wait({exchange, gone})
    if not exchange.cancelled():
        exchange.result()


def request_headers(scope: Scope) -> list[tuple[bytes, bytes]]:
    """Of a request or handshake, as its cell gets them."""
    # Of a Unix socket it has no address.
    host: str | None = (scope.get("client") or (None, 0))[0]
    scheme: str = scope["scheme"].replace("ws", "http", 1)
    kept = [field for field in passed_on(scope["headers"]) if field[0] not in _SAID_ANEW and field[0] != CELL]
    forwarded = [] if host is None else [(b"x-forwarded-for", host.encode())]
    return [
        *kept,
        *forwarded,
        (b"x-forwarded-proto", scheme.encode()),
        (REQUEST_ID, request_id_of(scope).encode()),
    ]


def passed_on(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Those that are not about one connection alone; names in lower case."""
    lower = [(name.lower(), value) for name, value in headers]
    named = {part.strip().lower() for name, value in lower if name == b"connection" for part in value.split(b",")}
    return [(name, value) for name, value in lower if name not in _ONE_CONNECTION and name not in named]


def answer_headers(answer: CellAnswer, cell: str) -> Headers:
    """The request's id is the boundary's to say."""
    kept = [field for field in passed_on(answer.headers) if field[0] not in (REQUEST_ID, b"date")]
    return [*kept, (CELL, cell.encode())]


async def _exchange(
    connections: CellConnections, scope: Scope, headers: Headers, body: AsyncIterator[bytes] | bytes, send: Send
) -> None:
    target: bytes = scope["raw_path"] + (b"?" + scope["query_string"] if scope["query_string"] else b"")
    async with connections.send(scope["method"], target, headers, body) as answer:
        fields = answer_headers(answer, connections.cell.name)
        await send({"type": "http.response.start", "status": answer.status, "headers": fields})
        async for part in answer.body:
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


class _Body:
    """What the client sends: its body for the cell, and after that the news that it has gone."""

    def __init__(self, receive: Receive, *, is_empty: bool) -> None:
        self._receive = receive
        self._is_read = asyncio.Event()
        self._has_gone = False
        if is_empty:
            self._is_read.set()

    async def parts(self) -> AsyncIterator[bytes]:
        """Ends with the body. For a client that goes before, it waits to be cancelled: what it sent is not all."""
        is_last = False
        while not is_last:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                self._has_gone = True
                self._is_read.set()
                await asyncio.Event().wait()
            is_last = not message.get("more_body", False)
            if message.get("body"):
                yield message["body"]
        self._is_read.set()

    async def until_gone(self) -> None:
        await self._is_read.wait()
        while not self._has_gone:
            self._has_gone = (await self._receive())["type"] == "http.disconnect"
