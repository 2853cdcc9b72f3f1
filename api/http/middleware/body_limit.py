"""No body is larger than the limit or than it claims: counted as it arrives, before anything is parsed."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.http.middleware.request_boundary import request_id_of
from api.http.problems.problem import HttpProblem, malformed, payload_too_large, problem_response
from storage.objects.local_store import OBJECTS_ROUTE

DRAIN_FACTOR = 4
"""How many times the limit is read and thrown away after a refusal: a client that is still sending would otherwise
see its connection reset and never our answer."""


class BodyLimit:
    """max_upload_bytes: for a file that is PUT to a link of the folder store."""

    def __init__(self, app: ASGIApp, max_bytes: int, max_upload_bytes: int) -> None:
        self._app = app
        self._max_bytes = max_bytes
        self._max_upload_bytes = max_upload_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit = self._limit(scope)
        problem, claimed = self._claim(scope, limit)
        if problem is not None:
            if claimed <= self._max_bytes * DRAIN_FACTOR and not _expects_continue(scope):
                await _drain(receive, claimed)
            await problem_response(problem, scope["path"], request_id_of(scope))(scope, receive, send)
            return
        body = CountedBody(receive, limit, claimed if claimed >= 0 else None)
        await self._app(scope, body.receive, send)

    def _limit(self, scope: Scope) -> int:
        is_upload = scope["method"] == "PUT" and scope["path"].startswith(OBJECTS_ROUTE)
        return self._max_upload_bytes if is_upload else self._max_bytes

    def _claim(self, scope: Scope, limit: int) -> tuple[HttpProblem | None, int]:
        """The Content-Length, -1 for none, and what is wrong with it."""
        values = [value for name, value in scope["headers"] if name == b"content-length"]
        if not values:
            return None, -1
        if len(set(values)) > 1 or not values[0].isdigit():
            return malformed("Content-Length is not a number"), 0
        claimed = int(values[0])
        return (payload_too_large(limit) if claimed > limit else None), claimed


class CountedBody:
    """A `receive` that raises a `HttpProblem` once the body is more than it may be, or less than it claims."""

    def __init__(self, receive: Receive, max_bytes: int, claimed_bytes: int | None) -> None:
        self._receive = receive
        self._max_bytes = max_bytes
        self._claimed_bytes = claimed_bytes
        self._num_bytes = 0
        self._is_whole = False

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] != "http.request" or self._is_whole:
            return message
        self._num_bytes += len(message.get("body", b""))
        self._is_whole = not message.get("more_body", False)
        if self._num_bytes > self._max_bytes:
            if not self._is_whole:
                await _drain(self._receive, self._max_bytes * DRAIN_FACTOR)
            raise payload_too_large(self._max_bytes)
        if self._claimed_bytes is not None:
            self._check_claim(self._claimed_bytes)
        return message

    def _check_claim(self, claimed_bytes: int) -> None:
        if self._num_bytes > claimed_bytes:
            raise payload_too_large(claimed_bytes)
        if self._is_whole and self._num_bytes < claimed_bytes:
            raise malformed(f"the body has {self._num_bytes} bytes and claims {claimed_bytes}")


async def _drain(receive: Receive, max_bytes: int) -> None:
    num_bytes = 0
    while num_bytes < max_bytes:
        message = await receive()
        if message["type"] != "http.request" or not message.get("more_body", False):
            return
        num_bytes += len(message.get("body", b""))


def _expects_continue(scope: Scope) -> bool:
    return any(name == b"expect" and value.lower() == b"100-continue" for name, value in scope["headers"])
