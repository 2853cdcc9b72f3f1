"""The synchronous client's speech of a text that is still being written.

The conversation is the asyncio client's, on an event loop in a thread. No other thread touches the connection: OpenSSL
does not let one thread read an encrypted connection while another writes to it.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Generator, Iterable
from concurrent.futures import Future
from contextlib import aclosing, contextmanager
from typing import TypeAlias

from rhapsode.client.connection import Connection
from rhapsode.client.live.chunks import AudioChunk, SpeechFacts
from rhapsode.client.live.task_dictation import of_open_text as of_open_text_in_task
from rhapsode.client.request_options import StreamOptions


def of_open_text(
    connection: Connection, text: Iterable[str], options: StreamOptions, facts: SpeechFacts
) -> Generator[AudioChunk]:
    """Each chunk is read when it is asked for. The thread ends with this generator."""
    # A text that is asynchronous too is read by a thread here, not on our loop.
    pieces = (piece for piece in text)
    chunks = of_open_text_in_task(connection, pieces, options, facts)
    with _asking(chunks) as ask:
        while (chunk := ask().result()) is not None:
            yield chunk


_Answer: TypeAlias = "Future[AudioChunk | None]"
"""A chunk, or None at the end; or what the conversation raised."""


@contextmanager
def _asking(chunks: AsyncGenerator[AudioChunk]) -> Generator[Callable[[], _Answer]]:
    """Closes the conversation and waits for its thread at the block's end."""
    runner, over = asyncio.Runner(loop_factory=asyncio.new_event_loop), asyncio.Event()
    loop = runner.get_loop()
    asked: asyncio.Queue[_Answer] = asyncio.Queue()

    def run() -> None:
        with runner:
            runner.run(_converse(chunks, asked, over))

    def ask() -> _Answer:
        answer: _Answer = Future()
        loop.call_soon_threadsafe(asked.put_nowait, answer)
        return answer

    thread = threading.Thread(target=run, name="rhapsode-speech", daemon=True)
    thread.start()
    try:
        yield ask
    finally:
        # A daemon thread: no caller joins it, and the interpreter stops it at exit.
        if not sys.is_finalizing():
            loop.call_soon_threadsafe(over.set)
            thread.join()


async def _converse(chunks: AsyncGenerator[AudioChunk], asked: asyncio.Queue[_Answer], over: asyncio.Event) -> None:
    async with aclosing(chunks):
        answering = asyncio.create_task(_answer(chunks, asked))
        await over.wait()
        # An interrupted caller leaves while a chunk is awaited.
        answering.cancel()
        await asyncio.wait((answering,))


async def _answer(chunks: AsyncGenerator[AudioChunk], asked: asyncio.Queue[_Answer]) -> None:
    """Until the conversation raises something: it is over then."""
    while True:
        answer = await asked.get()
        try:
            answer.set_result(await anext(chunks, None))
        except BaseException as error:  # noqa: BLE001 - raised to the caller
            answer.set_exception(error)
            return
