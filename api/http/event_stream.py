"""Server-sent events as an answer, until the client leaves."""

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
        """Ends soon after the caller leaves."""
        ...


class EventStream(Response):
    """A slow client delays only its own messages: the next one is made after it reads one."""

    media_type = "text/event-stream"

    def __init__(self, source: MessageSource) -> None:
        # Nginx would buffer several messages.
        super().__init__(headers={"Cache-Control": "no-cache", "X-Accel-Buffering": "no"})
        del self.headers["Content-Length"]
        self._source = source

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        hold(scope, _Messages(self._source))


class _Messages:
    """The body of a stream."""

    __slots__ = ("_source",)

    def __init__(self, source: MessageSource) -> None:
        self._source = source

    async def go_on(self, receive: Receive, send: Send) -> None:
        async with aclosing(self._source.messages(PresentCaller(receive))) as messages:
            async for message in messages:
                await send({"type": "http.response.body", "body": message, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
