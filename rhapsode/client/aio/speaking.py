"""Speech as it is made: of a text over HTTP, of a text that is still being written over a WebSocket."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager

import httpx

from rhapsode.client.aio.streaming import stream
from rhapsode.client.connection import Connection
from rhapsode.client.live.chunks import AudioChunk, SpeechFacts, read_headers
from rhapsode.client.live.orders import SPEECH, STREAM_HEADERS, AsyncTexts, stream_body
from rhapsode.client.request_options import StreamOptions
from rhapsode.client.retries import Attempts
from rhapsode.errors import ServerUnreachable


class AsyncSpeechStream:
    """An iterator of `AudioChunk`s. Leaving its `async with` block, or `aclose()`, ends the speech at the server too.

    facts: first-audio time, who speaks, and at the end what was found.
    """

    def __init__(self, facts: SpeechFacts, chunks: AsyncGenerator[AudioChunk]) -> None:
        self.facts = facts
        self._chunks = chunks

    def __aiter__(self) -> AsyncSpeechStream:
        return self

    async def __anext__(self) -> AudioChunk:
        return await anext(self._chunks)

    async def __aenter__(self) -> AsyncSpeechStream:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._chunks.aclose()


def stream_speech(
    http: httpx.AsyncClient, connection: Connection, text: AsyncTexts, options: StreamOptions
) -> AsyncSpeechStream:
    facts = SpeechFacts()
    if isinstance(text, str):
        return AsyncSpeechStream(facts, _of_whole_text(http, connection, text, options, facts))
    # A text that is whole needs no WebSocket, nor the time that loading them takes.
    from rhapsode.client.live.task_dictation import of_open_text

    return AsyncSpeechStream(facts, of_open_text(connection, text, options, facts))


def _of_whole_text(
    http: httpx.AsyncClient, connection: Connection, text: str, options: StreamOptions, facts: SpeechFacts
) -> AsyncGenerator[AudioChunk]:
    """It retries until the first audio."""
    body = stream_body(text, options)

    def ask() -> AbstractAsyncContextManager[httpx.Response]:
        facts.begin()
        return http.stream("POST", SPEECH, json=body, headers=STREAM_HEADERS, timeout=connection.timeout(0.0))

    attempts = Attempts(connection.retries, connection.server_url)
    return stream(ask, lambda response: _unbroken(response, facts), attempts)


async def _unbroken(response: httpx.Response, facts: SpeechFacts) -> AsyncGenerator[AudioChunk]:
    samples = read_headers(response.headers, facts)
    try:
        async for piece in response.aiter_bytes():
            chunk = samples.take(piece)
            if chunk is not None:
                yield facts.take(chunk)
    except httpx.RequestError as error:
        raise ServerUnreachable(f"the speech broke off before its end: {error or type(error).__name__}") from error
