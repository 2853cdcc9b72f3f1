"""Iterate over the samples of one request while the engine makes them."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from queue import SimpleQueue

from worker.engine.interface import Engine, Pcm, Speech, SpeechRequest


class SpeechStream:
    """An iterator that waits for each chunk and ends with the utterance. Joined chunks are the samples of `speech`.

    The engine never waits for the reader, because unread chunks are buffered. To stop early, cancel the request. If
    `speech` fails, iteration raises its error after the finished chunks.
    """

    def __init__(self, engine: Engine, request: SpeechRequest) -> None:
        """Submits the request."""
        self._chunks: SimpleQueue[Pcm | None] = SimpleQueue()
        self.speech: Future[Speech] = engine.submit(request, lambda chunk: self._chunks.put(chunk.pcm))
        self.speech.add_done_callback(lambda _: self._chunks.put(None))

    def __iter__(self) -> Iterator[Pcm]:
        while (chunk := self._chunks.get()) is not None:
            yield chunk
        self._chunks.put(None)  # a second iteration finds the end
        self.speech.result()
