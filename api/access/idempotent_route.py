"""Idempotency-Key for every POST: a repeat within 24 hours gets the first answer, and has no second effect.

A route that takes the header itself does better: its effect and its key are one function. The others are wrapped here.
Answers that say "not now" (429 and all of 500 and above) are not kept, nor is a secret that an answer holds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Coroutine
from typing import Any
from uuid import uuid4

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.types import Message

from api.access.authentication import identify
from api.http.idempotency_key import idempotency_key
from api.services.container import ApiServices
from storage.ids import TenantId
from storage.job_store.idempotent_responses import KeptAnswer
from storage.jobs.submissions import IdempotencyKey

HEADER = "Idempotency-Key"
REPLAYED = "Idempotency-Replayed"
MAX_KEPT_BYTES = 256 * 1024
"""Of an answer. No answer to a POST is longer."""

_KEPT_HEADERS = ("content-type", "location", "retry-after")
_SECRETS = ("secret",)
_BOUNDARY = re.compile(rb'boundary="?([^";,\s]+)"?')

_Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class IdempotentRoute(APIRoute):
    def get_route_handler(self) -> _Handler:
        handle = super().get_route_handler()
        if "POST" not in (self.methods or ()) or _takes_the_key(self):
            return handle

        async def handle_once(request: Request) -> Response:
            header = request.headers.get(HEADER)
            if header is None:
                return await handle(request)
            services: ApiServices = request.app.state.services
            tenant = (await identify(request, services)).tenant
            body = await request.body()
            key = idempotency_key(header, _comparable(request, body), request.url.path)
            if key is None:
                raise RuntimeError("the header has no key")
            return await _once(services, tenant, key, lambda: handle(_again(request, body)))

        return handle_once


async def _once(
    services: ApiServices, tenant: TenantId, key: IdempotencyKey, carry_out: Callable[[], Coroutine[Any, Any, Response]]
) -> Response:
    token = uuid4().hex
    kept = await services.access.idempotent_responses.take(tenant, key, token)
    if kept is not None:
        return Response(kept.body, kept.status, {**kept.headers, REPLAYED: "true"})
    try:
        response = await carry_out()
    except BaseException:
        # A refusal has no effect. The effect of a failure is unknown.
        await services.access.idempotent_responses.free(tenant, key, token)
        raise
    if _is_final(response):
        await services.access.idempotent_responses.keep(tenant, key, token, _kept(response))
    else:
        await services.access.idempotent_responses.free(tenant, key, token)
    return response


def _takes_the_key(route: APIRoute) -> bool:
    return any(field.alias.lower() == HEADER.lower() for field in route.dependant.header_params)


def _comparable(request: Request, body: bytes) -> bytes:
    """The body without the boundary, which differs in each request of a form."""
    found = _BOUNDARY.search(request.headers.get("content-type", "").encode("latin-1"))
    return body.replace(found[1], b"boundary") if found else body


def _again(request: Request, body: bytes) -> Request:
    """The request with an unread body."""
    is_sent = False

    async def receive() -> Message:
        nonlocal is_sent
        if is_sent:
            return await request.receive()
        is_sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return Request(request.scope, receive)


def _is_final(response: Response) -> bool:
    return response.status_code < 500 and response.status_code != 429 and len(bytes(response.body)) <= MAX_KEPT_BYTES


def _kept(response: Response) -> KeptAnswer:
    headers = {name: response.headers[name] for name in _KEPT_HEADERS if name in response.headers}
    return KeptAnswer(response.status_code, headers, _without_secrets(bytes(response.body).decode()))


def _without_secrets(body: str) -> str:
    """A repeat never shows a secret again."""
    if not body:
        return body
    document = json.loads(body)
    if not isinstance(document, dict) or not any(name in document for name in _SECRETS):
        return body
    return json.dumps({**document, **{name: None for name in _SECRETS if name in document}})
