"""Answers that are read as they come, asked for again until there is one: a job's audio is such an answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Literal, TypeVar

import httpx

from rhapsode.client.connection import Connection
from rhapsode.client.retries import Attempts
from rhapsode.errors import ServerUnreachable

T = TypeVar("T")

StreamType = Literal["wav", "mp3", "opus"]
"""The formats of a job's live stream."""

MEDIA_TYPES: dict[StreamType, str] = {"wav": "audio/wav", "mp3": "audio/mpeg", "opus": "audio/ogg"}


async def stream(
    ask: Callable[[], AbstractAsyncContextManager[httpx.Response]],
    read: Callable[[httpx.Response], AsyncIterator[T]],
    attempts: Attempts,
) -> AsyncGenerator[T]:
    """What `read` makes of the answer. A fault of the connection that `read` lets through is one before the answer."""
    while True:
        try:
            async with ask() as response:
                pause_s = None
                if response.is_success:
                    async for each in read(response):
                        yield each
                else:
                    await response.aread()
                    pause_s = attempts.pause_after_answer(response)
        except httpx.RequestError as error:
            pause_s = attempts.pause_after_break(error)
        if pause_s is None:
            return
        await asyncio.sleep(pause_s)


def listen(http: httpx.AsyncClient, connection: Connection, path: str, form: StreamType) -> AsyncIterator[bytes]:
    """Pieces of one file. It retries until the first audio."""

    def ask() -> AbstractAsyncContextManager[httpx.Response]:
        # No bound between two pieces: the next segment may have to wait for a worker as long as the job does.
        timeout = httpx.Timeout(connection.timeout_s, read=None)
        headers = {"Accept": MEDIA_TYPES[form]}
        return http.stream("GET", path, headers=headers, timeout=timeout)

    return stream(ask, _unbroken, Attempts(connection.retries, connection.server_url))


async def _unbroken(response: httpx.Response) -> AsyncIterator[bytes]:
    try:
        async for piece in response.aiter_bytes():
            yield piece
    except httpx.RequestError as error:
        said = f"the audio broke off before its end: {error or type(error).__name__}; listen again"
        raise ServerUnreachable(said) from error
