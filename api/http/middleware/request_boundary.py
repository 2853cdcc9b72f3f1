"""The outermost layer of a request: it gets an id, and an error without a handler becomes a 500 that tells nothing."""

from __future__ import annotations

import logging
import re

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from ulid import ULID

from api.http.problems.codes import PUBLIC_PATH
from api.http.problems.problem import internal, problem_response
from storage.runtime.observability.logs import request_fields

logger = logging.getLogger(__name__)

HEADER = b"x-request-id"

_SCOPE_KEY = "rhapsode.request_id"
_GIVEN_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")


def request_id_of(scope: Scope) -> str:
    return scope[_SCOPE_KEY]


class RequestBoundary:
    """Takes the caller's X-Request-ID if it is a plain one, and sends it back with every answer."""

    def __init__(self, app: ASGIApp, public_path: str = "") -> None:
        self._app = app
        self._public_path = public_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        PUBLIC_PATH.set(self._public_path)
        if _SCOPE_KEY not in scope:
            # One that comes back with its answer has its id.
            scope[_SCOPE_KEY] = _request_id(scope)
        request_id = request_id_of(scope)
        if scope["type"] == "websocket":
            with request_fields(request_id):
                await self._app(scope, receive, send)
            return
        is_answering = False

        async def send_with_id(message: Message) -> None:
            nonlocal is_answering
            if message["type"] == "http.response.start":
                is_answering = True
                message["headers"] = [*message.get("headers", ()), (HEADER, request_id.encode())]
            await send(message)

        with request_fields(request_id):
            try:
                await self._app(scope, receive, send_with_id)
            except Exception:  # the outermost layer: the answer has the request id under which the error is logged
                logger.exception("request failed", extra={"path": scope["path"]})
                if is_answering:
                    # Half an answer is out; only breaking off tells the client that it is not whole.
                    raise
                await problem_response(internal(), scope["path"], request_id)(scope, receive, send_with_id)


def _request_id(scope: Scope) -> str:
    given = next((value for name, value in scope["headers"] if name == HEADER), b"")
    return given.decode() if _GIVEN_ID.fullmatch(given) else f"req_{str(ULID()).lower()}"
