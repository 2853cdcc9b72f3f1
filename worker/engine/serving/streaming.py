"""The samples of one request as they are made, for one reader in a thread of its own."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from queue import SimpleQueue

from worker.engine.interface import Engine, Pcm, Speech, SpeechRequest


class SpeechStream:
    """Iterating waits for the samples of each chunk and ends with the utterance; joined, they are `speech`'s samples.

    No engine waits for a reader: what is not yet read is kept, which is at most the utterance itself. A reader that has
    heard enough cancels the request. Iteration raises what `speech` fails with, after the chunks that were made before.
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
