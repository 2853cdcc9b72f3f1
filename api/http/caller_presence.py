"""Whether the client of a request is still there while its answer is held."""

from __future__ import annotations

import asyncio

from starlette.types import Receive


class PresentCaller:
    """How a request sleeps whose client may go: until it is woken, or the client has gone. Its body has been read.

    One task does both. A second one, which waits for the client to go, would be a kibibyte for each request that waits.
    """

    __slots__ = ("_is_woken", "_receive", "_time_limit", "has_gone")

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._time_limit: asyncio.Timeout | None = None
        self._is_woken = False
        self.has_gone = False

    async def sleep(self, wait_s: float) -> bool:
        """False if the time was over. May be cancelled as any wait."""
        self._is_woken = False
        try:
            async with asyncio.timeout(wait_s) as self._time_limit:
                while (await self._receive())["type"] != "http.disconnect":
                    pass
                self.has_gone = True
        except TimeoutError:
            return self._is_woken
        finally:
            self._time_limit = None
        return True

    def wake(self) -> None:
        """One that sleeps."""
        if self._time_limit is not None and not self._time_limit.expired():
            self._is_woken = True
            self._time_limit.reschedule(asyncio.get_running_loop().time())
