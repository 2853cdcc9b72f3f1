"""A job's audio as it is made: one stream that follows the job to its end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager

import httpx

from rhapsode.client.aio.streaming import stream
from rhapsode.client.calls import job_path
from rhapsode.client.connection import Connection
from rhapsode.client.jobs.audio_streams import STREAM_MEDIA_TYPES, StreamType
from rhapsode.client.retries import Attempts
from rhapsode.errors import ServerUnreachable


def listen(http: httpx.AsyncClient, connection: Connection, job_id: str, form: StreamType) -> AsyncIterator[bytes]:
    """Pieces of one file. It retries until the first audio."""

    def ask() -> AbstractAsyncContextManager[httpx.Response]:
        return http.stream("GET", f"{job_path(job_id)}/audio", headers=_headers(form), timeout=_timeout(connection))

    return stream(ask, _unbroken, Attempts(connection.retries, connection.server_url))


def _headers(form: StreamType) -> dict[str, str]:
    return {"Accept": STREAM_MEDIA_TYPES[form]}


def _timeout(connection: Connection) -> httpx.Timeout:
    """No bound between two pieces: the next segment may have to wait for a worker as long as the job does."""
    return httpx.Timeout(connection.timeout_s, read=None)


async def _unbroken(response: httpx.Response) -> AsyncIterator[bytes]:
    try:
        async for piece in response.aiter_bytes():
            yield piece
    except httpx.RequestError as error:
        raise _broken_off(error) from error


def _broken_off(error: httpx.RequestError) -> ServerUnreachable:
    return ServerUnreachable(f"the audio broke off before its end: {error or type(error).__name__}; listen again")
