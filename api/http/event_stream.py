"""Server-sent events as an answer: messages as they come, for as long as the client is there."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Protocol

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from api.http.caller_presence import PresentCaller
from api.http.middleware.held_requests import hold

KEEP_ALIVE = b": ping\n\n"
"""A comment, which clients pass over; proxies see that the connection is in use."""


class MessageSource(Protocol):
    def messages(self, caller: PresentCaller) -> AsyncGenerator[bytes]:
        """Ends soon once the caller has gone, with whom it sleeps."""
        ...


class EventStream(Response):
    """A client that reads slowly holds up its own messages alone: the next is made when one was taken."""

    media_type = "text/event-stream"

    def __init__(self, source: MessageSource) -> None:
        # For Nginx, which would wait for more than one message.
        super().__init__(headers={"Cache-Control": "no-cache", "X-Accel-Buffering": "no"})
        del self.headers["Content-Length"]
        self._source = source

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        hold(scope, _Messages(self._source))


class _Messages:
    """What follows the beginning of a stream."""

    __slots__ = ("_source",)

    def __init__(self, source: MessageSource) -> None:
        self._source = source

    async def go_on(self, receive: Receive, send: Send) -> None:
        async with aclosing(self._source.messages(PresentCaller(receive))) as messages:
            async for message in messages:
                await send({"type": "http.response.body", "body": message, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
