# Made from rhapsode/client/aio/speaking.py by `make generated`; change that file, not this one.
"""Speech as it is made: of a text over HTTP, of a text that is still being written over a WebSocket."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import AbstractContextManager
from types import TracebackType

import httpx
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from rhapsode.client.connection import Connection
from rhapsode.client.live.chunks import AudioChunk, SpeechFacts, read_headers
from rhapsode.client.live.conversation import Conversation
from rhapsode.client.live.lines import CONNECTION_FAULTS, broken_off, line_options, line_url, pause_after_fault
from rhapsode.client.live.orders import SPEECH, STREAM_HEADERS, Texts, stream_body
from rhapsode.client.live.thread_feed import feeding
from rhapsode.client.request_options import StreamOptions
from rhapsode.client.retries import Attempts
from rhapsode.client.sync.streaming import stream
from rhapsode.errors import ServerUnreachable


class SpeechStream:
    """An iterator of `AudioChunk`s. Leaving its `with` block, or `close()`, ends the speech at the server too.

    facts: first-audio time, who speaks, and at the end what was found.
    """

    def __init__(self, facts: SpeechFacts, chunks: Generator[AudioChunk]) -> None:
        self.facts = facts
        self._chunks = chunks

    def __iter__(self) -> SpeechStream:
        return self

    def __next__(self) -> AudioChunk:
        return next(self._chunks)

    def __enter__(self) -> SpeechStream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._chunks.close()


def stream_speech(http: httpx.Client, connection: Connection, text: Texts, options: StreamOptions) -> SpeechStream:
    facts = SpeechFacts()
    if isinstance(text, str):
        return SpeechStream(facts, _of_whole_text(http, connection, text, options, facts))
    return SpeechStream(facts, _of_open_text(connection, text, options, facts))


def _of_whole_text(
    http: httpx.Client, connection: Connection, text: str, options: StreamOptions, facts: SpeechFacts
) -> Generator[AudioChunk]:
    """Tries again until there is a first answer, and not once something was heard."""
    body = stream_body(text, options)

    def ask() -> AbstractContextManager[httpx.Response]:
        facts.begin()
        return http.stream("POST", SPEECH, json=body, headers=STREAM_HEADERS, timeout=connection.timeout(0.0))

    attempts = Attempts(connection.retries, connection.server_url)
    return stream(ask, lambda response: _unbroken(response, facts), attempts)


def _unbroken(response: httpx.Response, facts: SpeechFacts) -> Generator[AudioChunk]:
    samples = read_headers(response.headers, facts)
    try:
        for piece in response.iter_bytes():
            chunk = samples.take(piece)
            if chunk is not None:
                yield facts.take(chunk)
    except httpx.RequestError as error:
        raise ServerUnreachable(f"the speech broke off before its end: {error or type(error).__name__}") from error


def _of_open_text(
    connection: Connection, text: Texts, options: StreamOptions, facts: SpeechFacts
) -> Generator[AudioChunk]:
    """Tries again until there is a connection, and not once a word of the text was taken."""
    attempts = Attempts(connection.retries, connection.server_url)
    facts.begin()
    while True:
        try:
            line = connect(line_url(connection), **line_options(connection))
        except CONNECTION_FAULTS as error:
            pause_s = pause_after_fault(attempts, error)
        else:
            break
        time.sleep(pause_s or 0.0)
    with line:
        conversation = Conversation(options, facts)
        _agree(line, conversation)
        with feeding(line, conversation, text) as feed:
            while not conversation.is_over:
                try:
                    chunk = conversation.take(line.recv())
                except ConnectionClosed as error:
                    feed.check()
                    raise broken_off(error) from error
                if chunk is not None:
                    yield chunk


def _agree(line: ClientConnection, conversation: Conversation) -> None:
    """Until the server knows what it is to speak with."""
    try:
        conversation.take(line.recv())
        line.send(conversation.start())
        while not conversation.is_configured:
            conversation.take(line.recv())
    except ConnectionClosed as error:
        raise broken_off(error) from error
