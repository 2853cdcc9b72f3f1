"""Files for a later job, sent straight to the server's store: the calls, and the sending itself for both clients.

A link takes one file once, so what broke half-way is sent again under a new one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx

from rhapsode.client.calls import Call, nothing, resource
from rhapsode.client.connection import PROXY_FREE, USER_AGENT, Connection
from rhapsode.contract.uploads import NewUpload, Upload

PIECE_BYTES = 256 * 1024


def order_upload(num_bytes: int) -> Call[NewUpload]:
    return Call("POST", "/v1/uploads", resource(NewUpload), body={"bytes": num_bytes})


def get_upload(upload_id: str) -> Call[Upload]:
    return Call("GET", f"/v1/uploads/{upload_id}", resource(Upload))


def delete_upload(upload_id: str) -> Call[None]:
    return Call("DELETE", f"/v1/uploads/{upload_id}", nothing)


def send_file(connection: Connection, place: NewUpload, path: Path) -> httpx.Response:
    """Without the client's key: the link is the permission, and it may lead to somebody else's server."""
    with httpx.Client(headers={"User-Agent": USER_AGENT}, mounts=PROXY_FREE) as http:
        return http.put(place.url, content=_pieces(path), headers=place.headers, timeout=connection.timeout(0.0))


async def send_file_async(connection: Connection, place: NewUpload, path: Path) -> httpx.Response:
    """As `send_file`."""
    async with httpx.AsyncClient(headers={"User-Agent": USER_AGENT}, mounts=PROXY_FREE) as http:
        return await http.put(
            place.url, content=_pieces_async(path), headers=place.headers, timeout=connection.timeout(0.0)
        )


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            yield piece


async def _pieces_async(path: Path) -> AsyncIterator[bytes]:
    with path.open("rb") as file:
        while piece := await asyncio.to_thread(file.read, PIECE_BYTES):
            yield piece
