"""A span for each request, within the caller's trace if there is one."""

from __future__ import annotations

from collections.abc import Awaitable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from storage.runtime.observability.tracing import is_traced, span

_HEADER = b"traceparent"
_LONGEST = 128
_QUIET = frozenset({"/livez", "/readyz", "/health", "/metrics"})
"""Polled every few seconds, so not worth a trace."""


class RequestTraces:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] != "http" or scope["path"] in _QUIET or not is_traced():
            # Not by a separate coroutine, which every waiting request would keep.
            return self._app(scope, receive, send)
        return self._trace(scope, receive, send)

    async def _trace(self, scope: Scope, receive: Receive, send: Send) -> None:
        with span("request", _given(scope), method=scope["method"]) as request:

            async def send_noted(message: Message) -> None:
                if message["type"] == "http.response.start":
                    route = getattr(scope.get("route"), "path", "unmatched")
                    request.note(route=route, status=message["status"])
                await send(message)

            await self._app(scope, receive, send_noted)


def _given(scope: Scope) -> str:
    value = next((value for name, value in scope["headers"] if name == _HEADER), b"")
    return value.decode("latin-1") if len(value) <= _LONGEST else ""
