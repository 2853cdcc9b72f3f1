# Made from rhapsode/client/aio/speaking.py by `make generated`; change that file, not this one.
"""Speech as it is made: of a text over HTTP, of a text that is still being written over a WebSocket."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractContextManager
from types import TracebackType

import httpx

from rhapsode.client.connection import Connection
from rhapsode.client.live.chunks import AudioChunk, SpeechFacts, read_headers
from rhapsode.client.live.orders import SPEECH, STREAM_HEADERS, Texts, stream_body
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
    # A text that is whole needs no WebSocket, nor the time that loading them takes.
    from rhapsode.client.live.thread_dictation import of_open_text

    return SpeechStream(facts, of_open_text(connection, text, options, facts))


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
