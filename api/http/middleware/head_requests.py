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
        read: Scope = {**scope, "method": "GET"}
        has_begun = False

        async def received() -> Message:
            """An answer that is made piece by piece ends with its head, as for a client who has gone."""
            return _DISCONNECT if has_begun else await receive()

        async def send_head(message: Message) -> None:
            nonlocal has_begun
            if message["type"] == "http.response.start":
                has_begun = True
                # What the route left there, by which the layers outside measure the request.
                scope.update({**read, "method": "HEAD"})
                await send(message)
                await send({"type": "http.response.body", "body": b"", "more_body": False})

        await self._app(read, received, send_head)

    def _is_answered(self, scope: Scope) -> bool:
        return any(route.matches(scope)[0] is Match.FULL for route in self._known)
