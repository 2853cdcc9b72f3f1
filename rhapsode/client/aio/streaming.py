"""An answer that is read as it comes, asked for again until there is one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import TypeVar

import httpx

from rhapsode.client.retries import Attempts

T = TypeVar("T")


async def stream(
    ask: Callable[[], AbstractAsyncContextManager[httpx.Response]],
    read: Callable[[httpx.Response], AsyncIterator[T]],
    attempts: Attempts,
) -> AsyncGenerator[T]:
    """What `read` makes of the answer. A fault of the connection that `read` lets through is one before the answer."""
    while True:
        try:
            async with ask() as response:
                pause_s = None
                if response.is_success:
                    async for each in read(response):
                        yield each
                else:
                    await response.aread()
                    pause_s = attempts.pause_after_answer(response)
        except httpx.RequestError as error:
            pause_s = attempts.pause_after_break(error)
        if pause_s is None:
            return
        await asyncio.sleep(pause_s)
