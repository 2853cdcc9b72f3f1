"""Requests that wait leave the layers of the application, and come back to them with their answer.

A request that waits inside its route keeps every layer's frame, the framework's stacks and what was parsed. An event
stream then takes 28 KiB; out here it takes half of that: one coroutine and what its route has left (`hold`). An answer
that was waited for goes through the layers as any does: they add their fields and handle its errors. An event stream
is written from out here: no layer looks at more than an answer's beginning.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from api.http.middleware.request_boundary import request_id_of
from api.http.middleware.request_metrics import still_in_progress
from api.http.problems.handlers import answered_error
from storage.runtime.observability.logs import own_request

LateAnswer = Callable[[], Awaitable[Response]]
"""Carried out within the layers: what it raises is answered as what a route raises."""

_HELD = "rhapsode.held"
_LATE = "rhapsode.late"

_LEFT_BEHIND = ("fastapi", "starlette", "endpoint", "path_params", "router")
"""Beginnings of what the framework has put into a scope for the route that has been left."""


class HeldRequest(Protocol):
    async def go_on(self, receive: Receive, send: Send) -> LateAnswer | None:
        """None if nothing is left to be answered. receive, send: the server's own; the body has been read."""
        ...


def hold(scope: Scope, held: HeldRequest) -> None:
    """To go on with once the layers are left; nothing else is to be sent within them."""
    scope[_HELD] = held


class HeldRequests:
    """The layer around all that are left."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)
        held: HeldRequest | None = scope.pop(_HELD, None)
        if held is None:
            return
        _forget_the_route(scope)
        own_request(request_id_of(scope))
        with still_in_progress():
            late = await held.go_on(receive, send)
        if late is not None:
            scope[_LATE] = late
            await self._app(scope, receive, send)


class LateAnswers:
    """The layer within all others, which gives the answers of requests that come back."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        late: LateAnswer | None = scope.pop(_LATE, None)
        if late is None:
            await self._app(scope, receive, send)
            return
        try:
            answer = await late()
        except Exception as error:  # noqa: BLE001 - `answered_error` raises again what no problem describes
            answer = await answered_error(Request(scope), error)
        await answer(scope, receive, send)


def _forget_the_route(scope: Scope) -> None:
    kept = {name: value for name, value in scope.items() if not name.startswith(_LEFT_BEHIND)}
    scope.clear()
    scope.update(kept)
