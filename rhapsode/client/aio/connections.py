"""The connections of a client: a pool for its calls, one for each upload, and the bound on every answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import httpx

from rhapsode.client.answer_limits import UNCOMPRESSED, limit_of, too_large
from rhapsode.client.connection import PROXY_FREE, USER_AGENT, Connection
from rhapsode.client.encryption import EncryptionWhenNeeded
from rhapsode.contract.uploads import NewUpload
from rhapsode.errors import BadAnswer

PIECE_BYTES = 256 * 1024


def open_pool(connection: Connection) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        base_url=connection.server_url,
        headers=connection.headers(),
        follow_redirects=True,
        mounts=PROXY_FREE,
        verify=EncryptionWhenNeeded(),
        event_hooks={"response": [bound_answer]},
    )


async def send_file(connection: Connection, place: NewUpload, path: Path) -> httpx.Response:
    """To the server's store, without the client's key: the link permits it, and may lead to another operator."""
    try:
        address = httpx.URL(place.url)
    except httpx.InvalidURL as error:
        raise BadAnswer(f"the server named no address for the upload, but {place.url[:100]!r}") from error
    headers, hooks = {"User-Agent": USER_AGENT} | UNCOMPRESSED, {"response": [bound_answer]}
    async with httpx.AsyncClient(headers=headers, mounts=PROXY_FREE, event_hooks=hooks) as http:
        return await http.put(address, content=_pieces(path), headers=place.headers, timeout=connection.timeout(0.0))


async def _pieces(path: Path) -> AsyncIterator[bytes]:
    with path.open("rb") as file:
        while piece := await asyncio.to_thread(file.read, PIECE_BYTES):
            yield piece


async def bound_answer(response: httpx.Response) -> None:
    """Raises `BadAnswer` for a compressed answer, and has reading raise it for one that is too large."""
    limit = limit_of(response)
    if limit is not None:
        response.stream = _Bounded(response, limit)


class _Bounded(httpx.AsyncByteStream):
    """The body of an answer, which ends with an error behind this many bytes."""

    def __init__(self, response: httpx.Response, limit: int) -> None:
        if not isinstance(response.stream, httpx.AsyncByteStream):
            raise TypeError(f"an answer over {type(response.stream).__name__}")
        self._response = response
        self._stream = response.stream
        self._limit = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        num_bytes = 0
        async for piece in self._stream:
            num_bytes += len(piece)
            if num_bytes > self._limit:
                raise too_large(self._response, self._limit)
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()
