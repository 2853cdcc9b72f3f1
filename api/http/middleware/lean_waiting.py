"""What uvicorn has for each connection and request to wait with, without the queue of 600 bytes that an `asyncio.Event`
has from its beginning for those who may wait: ten thousand held requests have two such events each.
"""

from __future__ import annotations

import asyncio
from typing import Literal

from uvicorn.protocols.http.flow_control import FlowControl


class LeanEvent(asyncio.Event):
    __slots__ = ("_is_set", "_waiting")

    def __init__(self, *, is_set: bool = False) -> None:
        # Not the parent's, which makes the queue.
        self._is_set = is_set
        self._waiting: list[asyncio.Future[None]] | None = None

    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        self._is_set = True
        for each in self._waiting or ():
            if not each.done():
                each.set_result(None)

    def clear(self) -> None:
        self._is_set = False

    async def wait(self) -> Literal[True]:
        if self._is_set:
            return True
        told = asyncio.get_running_loop().create_future()
        self._waiting = [*(self._waiting or ()), told]
        try:
            await told
        finally:
            self._waiting = [each for each in self._waiting if each is not told] or None
        return True


class LeanFlowControl(FlowControl):
    def __init__(self, transport: asyncio.Transport) -> None:
        # Not the parent's, which makes an event.
        self._transport = transport
        self.read_paused = False
        self.write_paused = False
        self._is_writable_event = LeanEvent(is_set=True)
