"""The rate limit of a tenant, in the headers of every answer.

The fields follow draft-ietf-httpapi-ratelimit-headers: `RateLimit-Policy` is the limit, `RateLimit` the rest.
"""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.http.problems.problem import problem
from storage.tenants.rate_limits import RateState

POLICY = "tenant"

_SCOPE_KEY = "rhapsode.rate_limit"


def admit(request: HTTPConnection, state: RateState) -> None:
    """Note the rest for the answer. Raises an `HttpProblem` beyond the limit."""
    request.scope[_SCOPE_KEY] = {
        "RateLimit-Policy": f'"{POLICY}";q={state.amount};w={state.period_s}',
        "RateLimit": f'"{POLICY}";r={state.remaining};t={state.reset_s}',
    }
    if not state.is_admitted:
        detail = f"{state.amount:,} requests in {state.period_s:,} s are allowed"
        raise problem("rate_limited", detail, retry_after_s=state.reset_s)


class RateLimitFields:
    """Adds the fields of `admit` to the answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_fields(message: Message) -> None:
            if message["type"] == "http.response.start" and _SCOPE_KEY in scope:
                MutableHeaders(scope=message).update(scope[_SCOPE_KEY])
            await send(message)

        await self._app(scope, receive, send_with_fields if scope["type"] == "http" else send)
