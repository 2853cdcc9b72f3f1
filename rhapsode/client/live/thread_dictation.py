"""The synchronous client's speech of a text that is still being written.

The conversation is the asyncio client's, on an event loop in a thread. No other thread touches the connection: OpenSSL
does not let one thread read an encrypted connection while another writes to it.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import AsyncGenerator, Generator, Iterable
from concurrent.futures import Future
from contextlib import contextmanager

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
    with _running_loop() as loop:
        chunks = of_open_text_in_task(connection, pieces, options, facts)
        while (chunk := _next_of(chunks, loop)) is not None:
            yield chunk


@contextmanager
def _running_loop() -> Generator[asyncio.AbstractEventLoop]:
    """Ends its tasks, closes its generators and waits for its thread at the block's end."""
    runner, over = asyncio.Runner(loop_factory=asyncio.new_event_loop), asyncio.Event()
    loop = runner.get_loop()
    thread = threading.Thread(target=_run, args=(runner, over), name="rhapsode-speech", daemon=True)
    thread.start()
    try:
        yield loop
    finally:
        # The interpreter stops such threads at its end: nobody would join this one.
        if not sys.is_finalizing():
            loop.call_soon_threadsafe(over.set)
            thread.join()


def _run(runner: asyncio.Runner, over: asyncio.Event) -> None:
    with runner:
        runner.run(over.wait())


def _next_of(chunks: AsyncGenerator[AudioChunk], loop: asyncio.AbstractEventLoop) -> AudioChunk | None:
    """None at the end. Raises what the generator raises."""
    answer: Future[AudioChunk | None] = Future()
    asyncio.run_coroutine_threadsafe(_answer(chunks, answer), loop)
    return answer.result()


async def _answer(chunks: AsyncGenerator[AudioChunk], answer: Future[AudioChunk | None]) -> None:
    try:
        answer.set_result(await anext(chunks, None))
    except BaseException as error:  # noqa: BLE001 - raised to the caller
        answer.set_exception(error)
