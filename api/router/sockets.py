"""A WebSocket through to a cell: messages in both directions, as they come.

The server has answered to the client's frames by then, so bytes cannot be passed on; `websockets`, which the client and
the workers' live doors speak with, is the other end.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from starlette.responses import Response
from starlette.websockets import WebSocket, WebSocketDisconnect
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException
from websockets.typing import Subprotocol

from api.router.connections import CONNECT_S, CellConnections, CellDown
from api.router.forwarding import CELL, passed_on, request_headers

MAX_MESSAGE_BYTES = 16 * 1024 * 1024
"""What a cell takes of a client, and what it sends, is less."""

_OF_THE_HANDSHAKE = b"sec-websocket-"
_CELL_LOST = 1012
"""Service restart: the client may come back."""


async def pass_socket(connections: CellConnections, socket: WebSocket) -> None:
    """Until either end closes. Raises `CellDown` before the handshake is answered, and never after."""
    async with _opened(connections, socket) as cell:
        if cell is None:
            return
        await socket.accept(cell.subprotocol, [(CELL, connections.cell.name.encode())])
        directions = {asyncio.create_task(_to_cell(socket, cell)), asyncio.create_task(_to_client(cell, socket))}
        try:
            await asyncio.wait(directions, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for direction in directions:
                direction.cancel()
            ended = await asyncio.gather(*directions, return_exceptions=True)
        for end in ended:
            if isinstance(end, Exception):
                raise end


@asynccontextmanager
async def _opened(connections: CellConnections, socket: WebSocket) -> AsyncGenerator[ClientConnection | None]:
    """None if the cell has refused the handshake, and the client has its refusal."""
    scope = socket.scope
    parts = urlsplit(connections.cell.url)
    target = scope["raw_path"].decode() + (f"?{scope['query_string'].decode()}" if scope["query_string"] else "")
    host = next((value.decode() for name, value in scope["headers"] if name == b"host"), parts.netloc)
    # The library says who it is called by the address, and goes where host and port say.
    address = f"{'wss' if parts.scheme == 'https' else 'ws'}://{host}{target}"
    origin = next((value.decode() for name, value in scope["headers"] if name == b"origin"), None)
    headers = [
        (name.decode(), value.decode("latin-1"))
        for name, value in request_headers(scope)
        if name not in (b"host", b"origin") and not name.startswith(_OF_THE_HANDSHAKE)
    ]
    opening = connect(
        address,
        host=parts.hostname,
        port=parts.port or (443 if parts.scheme == "https" else 80),
        origin=origin,
        subprotocols=[Subprotocol(name) for name in scope.get("subprotocols", [])] or None,
        additional_headers=headers,
        user_agent_header=None,
        compression=None,
        open_timeout=CONNECT_S,
        max_size=MAX_MESSAGE_BYTES,
        proxy=None,
        # The client and the cell ask each other, through here.
        ping_interval=None,
    )
    try:
        cell = await opening
    except InvalidStatus as refused:
        await _refuse(socket, refused)
        yield None
        return
    except (OSError, TimeoutError, WebSocketException) as error:
        raise CellDown(connections.cell.name) from error
    async with cell:
        yield cell


async def _refuse(socket: WebSocket, refused: InvalidStatus) -> None:
    answer = refused.response
    headers = [(name.encode(), value.encode("latin-1")) for name, value in answer.headers.raw_items()]
    body = bytes(answer.body or b"")
    response = Response(body, answer.status_code)
    response.raw_headers = [
        field for field in passed_on(headers) if field[0] not in (b"content-length", b"date", b"x-request-id")
    ]
    response.raw_headers.append((b"content-length", str(len(body)).encode()))
    await socket.send_denial_response(response)


async def _to_cell(socket: WebSocket, cell: ClientConnection) -> None:
    try:
        while True:
            message = await socket.receive()
            if message["type"] == "websocket.disconnect":
                await cell.close(*_closing(message.get("code"), message.get("reason")))
                return
            text: str | None = message.get("text")
            data: bytes = message.get("bytes") or b""
            await cell.send(data if text is None else text)
    except ConnectionClosed:
        # The other direction tells the client.
        await asyncio.Event().wait()


async def _to_client(cell: ClientConnection, socket: WebSocket) -> None:
    try:
        async for message in cell:
            if isinstance(message, str):
                await socket.send_text(message)
            else:
                await socket.send_bytes(message)
        await socket.close(*_closing(cell.close_code, cell.close_reason))
    except ConnectionClosed:
        await socket.close(*_closing(cell.close_code, cell.close_reason))
    except WebSocketDisconnect:
        # The other direction tells the cell.
        await asyncio.Event().wait()


def _closing(code: int | None, reason: str | None) -> tuple[int, str]:
    """A code that may be sent: some only say, to one's own side, that nothing came."""
    if code is None or code in (1005, 1006, 1015):
        return (1000 if code == 1005 else _CELL_LOST), reason or ""
    return code, reason or ""
