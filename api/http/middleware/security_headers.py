"""What every answer says to browsers: nothing here is a page to embed, a script to run or a type to guess.

An answer that already has these headers stays unchanged: the page at / and downloads set their own.
"""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}

_FIELDS = tuple((name.lower().encode(), value.encode()) for name, value in HEADERS.items())


class SecurityHeaders:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                said = list(message.get("headers", ()))
                names = {name for name, _ in said}
                message["headers"] = said + [field for field in _FIELDS if field[0] not in names]
            await send(message)

        await self._app(scope, receive, send_with_headers if scope["type"] == "http" else send)
