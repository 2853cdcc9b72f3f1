"""What this API process measures of its requests: how many, how long, how many refused for now."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from importlib.metadata import version

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from storage.runtime.observability.metrics import PROCESS_INFO, counter, gauge, histogram

_REQUESTS = counter("rhapsode_http_requests")
_DURATION = histogram("rhapsode_http_request_duration_seconds")
_IN_PROGRESS = gauge("rhapsode_http_requests_in_progress")
_REFUSALS = counter("rhapsode_http_refusals")

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_SCOPE_KEY = "rhapsode.started_s"

TRY_LATER = frozenset({429, 503})


def process_started(name: str) -> None:
    PROCESS_INFO.labels("api", name, version("rhapsode")).set(1)


def refused(status: int, code: str) -> None:
    """A request was answered with this problem."""
    if status in TRY_LATER:
        _REFUSALS.labels(code).inc()


def still_in_progress() -> AbstractContextManager[None]:
    """A request that has left the meter and is not answered."""
    return _IN_PROGRESS.track_inprogress()


class RequestMeter:
    """Counts answers by route, as the route is written: an id is no label."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        # Of one that comes back with its answer, when it came first.
        started_s = scope.setdefault(_SCOPE_KEY, time.perf_counter())

        async def send_measured(message: Message) -> None:
            if message["type"] == "http.response.start":
                _answered(scope, message["status"], time.perf_counter() - started_s)
            await send(message)

        with _IN_PROGRESS.track_inprogress():
            await self._app(scope, receive, send_measured)


def _answered(scope: Scope, status: int, seconds: float) -> None:
    route = getattr(scope.get("route"), "path", "unmatched")
    method = scope["method"] if scope["method"] in _METHODS else "other"
    _REQUESTS.labels(method, route, str(status)).inc()
    _DURATION.labels(route).observe(seconds)
