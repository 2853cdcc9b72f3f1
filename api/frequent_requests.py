"""The requests that a short job is made of, and speech, answered before the framework: submit, read, fetch, speak.

Each is a route of the framework too, which describes it and answers what differs from the usual (another method, an
address below another root). Here its function is called directly with the same values. It skips the search for the
route and the resolution of annotations, a tenth of such a request's time.
"""

from __future__ import annotations

import re
from asyncio import to_thread
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from api.dependencies import asked_by, job_id_of, json_bytes_of, services_of
from api.http.problems.handlers import answered_error
from api.jobs.control import artifact_routes, routes
from api.openai import routes as speech
from api.system import objects

Answer = Callable[[Request, Mapping[str, str]], Awaitable[Response]]
"""Of a request and what its address names."""


@dataclass(frozen=True, slots=True)
class Frequent:
    """route: the framework's, as it is written. place: what takes the whole path of such a request."""

    method: str
    route: str
    place: re.Pattern[str]
    answer: Answer


async def _submit(request: Request, _: Mapping[str, str]) -> Response:
    asked, body, headers = await asked_by(request), await json_bytes_of(request), request.headers
    return await routes.submit_job(asked, body, headers.get("idempotency-key"), headers.get("prefer"))


async def _read(request: Request, named: Mapping[str, str]) -> Response:
    asked, job, headers = await asked_by(request), await job_id_of(named["job_id"]), request.headers
    return await routes.get_job(asked, job, headers.get("prefer"), headers.get("if-none-match"))


async def _find_artifact(request: Request, named: Mapping[str, str]) -> Response:
    asked, job = await asked_by(request), await job_id_of(named["job_id"])
    return await to_thread(artifact_routes.get_artifact, asked, job, named["name"])


async def _fetch(request: Request, named: Mapping[str, str]) -> Response:
    return await to_thread(objects.get_object, request, await services_of(request), named["key"])


async def _speak(request: Request, _: Mapping[str, str]) -> Response:
    asked, body, headers = await asked_by(request), await json_bytes_of(request), request.headers
    prefer, key = headers.get("prefer"), headers.get("idempotency-key")
    return await speech.speak(request, asked.tenant, asked.services, asked.links, body, prefer, key)


_JOB = "/v1/jobs/(?P<job_id>[^/]+)"

FREQUENT = (
    Frequent("POST", "/v1/jobs", re.compile("/v1/jobs"), _submit),
    Frequent("GET", "/v1/jobs/{job_id}", re.compile(_JOB), _read),
    Frequent(
        "GET", "/v1/jobs/{job_id}/artifacts/{name}", re.compile(f"{_JOB}/artifacts/(?P<name>[^/]+)"), _find_artifact
    ),
    Frequent("POST", "/v1/audio/speech", re.compile("/v1/audio/speech"), _speak),
    Frequent("GET", "/v1/objects/{key:path}", re.compile("/v1/objects/(?P<key>.*)"), _fetch),
)


class FrequentRequests:
    """The layer in front of the framework's own search. known: the application's routes."""

    def __init__(self, app: ASGIApp, known: Sequence[BaseRoute]) -> None:
        self._app = app
        self._served = [(each, route) for each in FREQUENT if (route := _route_of(each, known)) is not None]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not scope.get("root_path"):
            for each, route in self._served:
                if each.method == scope["method"] and (found := each.place.fullmatch(scope["path"])):
                    # By which the request is measured and traced.
                    scope["route"] = route
                    await _answer(each, found.groupdict(), scope, receive, send)
                    return
        await self._app(scope, receive, send)


async def _answer(each: Frequent, named: Mapping[str, str], scope: Scope, receive: Receive, send: Send) -> None:
    request = Request(scope, receive, send)
    try:
        answer = await each.answer(request, named)
    except Exception as error:  # noqa: BLE001 - `answered_error` raises again what no problem describes
        answer = await answered_error(request, error)
    await answer(scope, receive, send)


def _route_of(each: Frequent, known: Sequence[BaseRoute]) -> Route | None:
    """None for what this application does not serve."""
    found = (route for route in known if isinstance(route, Route) and route.path == each.route)
    return next((route for route in found if each.method in (route.methods or ())), None)
