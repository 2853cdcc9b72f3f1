"""A job's audio as it is made: one stream that follows the job to its end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import httpx

from rhapsode.client.calls import audio_path
from rhapsode.client.connection import Connection
from rhapsode.client.jobs.audio_streams import STREAM_MEDIA_TYPES, StreamType
from rhapsode.client.retries import Attempts
from rhapsode.errors import ServerUnreachable


async def listen(
    http: httpx.AsyncClient, connection: Connection, job_id: str, form: StreamType
) -> AsyncIterator[bytes]:
    """Pieces of one file. Tries again until there is a first answer, and not once something was heard."""
    attempts = Attempts(connection.retries, connection.server_url)
    while True:
        try:
            async with http.stream(
                "GET", audio_path(job_id), headers=_headers(form), timeout=_timeout(connection)
            ) as response:
                pause_s = None
                if response.is_success:
                    async for piece in _unbroken(response):
                        yield piece
                else:
                    await response.aread()
                    pause_s = attempts.pause_after_answer(response)
        except httpx.RequestError as error:
            pause_s = attempts.pause_after_break(error)
        if pause_s is None:
            return
        await asyncio.sleep(pause_s)


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
