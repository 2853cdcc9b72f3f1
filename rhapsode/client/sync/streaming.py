# Made from rhapsode/client/aio/streaming.py by `make generated`; change that file, not this one.
"""An answer that is read as it comes, asked for again until there is one."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager
from typing import TypeVar

import httpx

from rhapsode.client.retries import Attempts

T = TypeVar("T")


def stream(
    ask: Callable[[], AbstractContextManager[httpx.Response]],
    read: Callable[[httpx.Response], Iterator[T]],
    attempts: Attempts,
) -> Generator[T]:
    """What `read` makes of the answer. A fault of the connection that `read` lets through is one before the answer."""
    while True:
        try:
            with ask() as response:
                pause_s = None
                if response.is_success:
                    yield from read(response)
                else:
                    response.read()
                    pause_s = attempts.pause_after_answer(response)
        except httpx.RequestError as error:
            pause_s = attempts.pause_after_break(error)
        if pause_s is None:
            return
        time.sleep(pause_s)
