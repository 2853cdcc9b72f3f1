"""Pieces of a text whose iterator may block: read by a thread, awaited by a task."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import AsyncGenerator, Iterable
from concurrent.futures import Future
from itertools import chain, islice
from typing import TypeAlias

_Answer: TypeAlias = "Future[list[str] | BaseException]"
"""The next piece, none at the end; or what the iterator raised."""


async def pieces_of(texts: Iterable[str]) -> AsyncGenerator[str]:
    """Reads a piece when it is asked for one. Raises what the iterator raises.

    The thread ends with the iterator's next piece; one that never comes does not keep the program from its end, as a
    thread of `asyncio.to_thread` does.
    """
    asked: queue.SimpleQueue[_Answer | None] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(texts, asked), name="rhapsode-text", daemon=True).start()
    try:
        while pieces := await _ask(asked):
            yield pieces[0]
    finally:
        asked.put(None)


async def _ask(asked: queue.SimpleQueue[_Answer | None]) -> list[str]:
    answer: _Answer = Future()
    asked.put(answer)
    pieces = await asyncio.wrap_future(answer)
    if isinstance(pieces, BaseException):
        raise pieces
    return pieces


def _read(texts: Iterable[str], asked: queue.SimpleQueue[_Answer | None]) -> None:
    # Calls `iter` with the first piece, so that its error is an answer too.
    pieces = chain.from_iterable((texts,))
    while (answer := asked.get()) is not None and answer.set_running_or_notify_cancel():
        try:
            answer.set_result(list(islice(pieces, 1)))
        except BaseException as error:  # noqa: BLE001 - raised to the caller
            answer.set_result(error)
