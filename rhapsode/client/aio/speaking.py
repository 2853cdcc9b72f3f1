"""Speech as it is made: of a text over HTTP, of a text that is still being written over a WebSocket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager
from types import TracebackType

import httpx
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from rhapsode.client.aio.streaming import stream
from rhapsode.client.connection import Connection
from rhapsode.client.live.chunks import AudioChunk, SpeechFacts, read_headers
from rhapsode.client.live.conversation import Conversation
from rhapsode.client.live.lines import CONNECTION_FAULTS, broken_off, line_options, line_url, pause_after_fault
from rhapsode.client.live.orders import SPEECH, STREAM_HEADERS, AsyncTexts, stream_body
from rhapsode.client.live.task_feed import feeding
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

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._chunks.aclose()


def stream_speech(
    http: httpx.AsyncClient, connection: Connection, text: AsyncTexts, options: StreamOptions
) -> AsyncSpeechStream:
    facts = SpeechFacts()
    if isinstance(text, str):
        return AsyncSpeechStream(facts, _of_whole_text(http, connection, text, options, facts))
    return AsyncSpeechStream(facts, _of_open_text(connection, text, options, facts))


def _of_whole_text(
    http: httpx.AsyncClient, connection: Connection, text: str, options: StreamOptions, facts: SpeechFacts
) -> AsyncGenerator[AudioChunk]:
    """Tries again until there is a first answer, and not once something was heard."""
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


async def _of_open_text(
    connection: Connection, text: AsyncTexts, options: StreamOptions, facts: SpeechFacts
) -> AsyncGenerator[AudioChunk]:
    """Tries again until there is a connection, and not once a word of the text was taken."""
    attempts = Attempts(connection.retries, connection.server_url)
    facts.begin()
    while True:
        try:
            line = await connect(line_url(connection), **line_options(connection))
        except CONNECTION_FAULTS as error:
            pause_s = pause_after_fault(attempts, error)
        else:
            break
        await asyncio.sleep(pause_s or 0.0)
    async with line:
        conversation = Conversation(options, facts)
        await _agree(line, conversation)
        async with feeding(line, conversation, text) as feed:
            while not conversation.is_over:
                try:
                    chunk = conversation.take(await line.recv())
                except ConnectionClosed as error:
                    feed.check()
                    raise broken_off(error) from error
                if chunk is not None:
                    yield chunk


async def _agree(line: ClientConnection, conversation: Conversation) -> None:
    """Until the server knows what it is to speak with."""
    try:
        conversation.take(await line.recv())
        await line.send(conversation.start())
        while not conversation.is_configured:
            conversation.take(await line.recv())
    except ConnectionClosed as error:
        raise broken_off(error) from error
