"""HEAD of every address that GET answers: the same status and fields, and no body.

An address with its own HEAD route keeps it: its GET would read a whole file.
"""

from __future__ import annotations

from collections.abc import Sequence

from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_DISCONNECT: Message = {"type": "http.disconnect"}


class HeadRequests:
    """The layer in front of the routes. known: the application's routes."""

    def __init__(self, app: ASGIApp, known: Sequence[BaseRoute]) -> None:
        self._app = app
        self._known = known

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD" or self._is_answered(scope):
            await self._app(scope, receive, send)
            return
        await _Head(scope, receive, send).answer(self._app)

    def _is_answered(self, scope: Scope) -> bool:
        return any(route.matches(scope)[0] is Match.FULL for route in self._known)


class _Head:
    """One request. An answer that is made piece by piece ends with its head, as for a client who has gone."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._asked = scope
        self._read: Scope = {**scope, "method": "GET"}
        self._receive = receive
        self._send = send
        self._has_begun = False

    async def answer(self, app: ASGIApp) -> None:
        await app(self._read, self._received, self._sent)

    async def _received(self) -> Message:
        return _DISCONNECT if self._has_begun else await self._receive()

    async def _sent(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._has_begun = True
            # What the route left there, by which the layers outside measure the request.
            self._asked.update({**self._read, "method": "HEAD"})
            await self._send(message)
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})
