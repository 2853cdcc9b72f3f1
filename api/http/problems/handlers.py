"""Every error of the stores and of the framework, as a problem."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import BaseRoute, Match
from starlette.types import Scope

from api.http.middleware.request_boundary import request_id_of
from api.http.middleware.request_metrics import refused
from api.http.parsing import parameter_problem
from api.http.problems import problem as problems
from api.http.problems.pages import problem_page
from api.http.problems.problem import HttpProblem, problem_response
from storage.errors import (
    BacklogFull,
    DictionaryNotFound,
    IdempotencyInProgress,
    IdempotencyMismatch,
    JobGone,
    JobNotFound,
    KeyNotFound,
    QuotaExceeded,
    SegmentNotFound,
    StateConflict,
    StorageError,
    StoreFull,
    StoreUnavailable,
    VoiceChanged,
    VoiceGone,
    VoiceNameTaken,
    VoiceNotFound,
)
from storage.webhooks.errors import DeliveryBusy, DeliveryNotFound, EndpointDisabled, EndpointGone, EndpointNotFound

logger = logging.getLogger(__name__)

SHARED = "/v1/objects/"
"""Links below it are given to people, who open them in a browser."""

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
"""Those that anything here answers to."""


def add_error_handlers(app: FastAPI) -> None:
    for kind in (HttpProblem, StorageError, RequestValidationError, HTTPException, ClientDisconnect):
        app.add_exception_handler(kind, answered_error)


async def answered_error(request: Request, error: Exception) -> Response:
    """Raises it again if no problem describes it."""
    request_id = request_id_of(request.scope)
    problem = _problem(request, error)
    if problem is None:
        # The boundary around the application answers what has no handler, and logs it.
        raise error
    if isinstance(error, StoreUnavailable):
        logger.warning("a store is unavailable", extra={"request_id": request_id, "error": str(error)})
    refused(problem.status, problem.code)
    if request.url.path.startswith(SHARED) and "text/html" in request.headers.get("accept", ""):
        return problem_page(problem)
    return problem_response(problem, request.url.path, request_id)


def _problem(request: Request, error: Exception) -> HttpProblem | None:
    match error:
        case HttpProblem():
            return error
        case RequestValidationError():
            return parameter_problem(error)
        case ClientDisconnect():
            return problems.malformed("the body is shorter than it claims")
        case HTTPException():
            return _framework_problem(request, error)
        case StorageError():
            return storage_problem(error)
        case _:
            return None


def storage_problem(error: StorageError) -> HttpProblem | None:
    """None for an error without a problem for callers."""
    match error:
        case JobNotFound() | KeyNotFound() | DictionaryNotFound() | SegmentNotFound():
            return problems.problem("not_found", str(error))
        case EndpointNotFound() | DeliveryNotFound():
            return problems.problem("not_found", str(error))
        case VoiceNotFound():
            return problems.problem("voice_not_found", str(error))
        case EndpointDisabled() | DeliveryBusy() | VoiceChanged() | StateConflict():
            return problems.problem("state_conflict", str(error))
        case JobGone() | VoiceGone() | EndpointGone():
            return problems.problem("gone", str(error))
        case VoiceNameTaken():
            return problems.name_taken(str(error))
        case IdempotencyInProgress():
            return problems.idempotency_in_progress()
        case IdempotencyMismatch():
            return problems.idempotency_mismatch()
        case QuotaExceeded():
            return problems.quota_exceeded(str(error), error.retry_after_s)
        case BacklogFull():
            return problems.backlog_full(str(error), error.retry_after_s)
        case StoreFull():
            return problems.storage_unavailable(str(error))
        case StoreUnavailable():
            return problems.storage_unavailable()
        case _:
            return None


def _framework_problem(request: Request, error: HTTPException) -> HttpProblem | None:
    match error.status_code:
        case 404:
            return problems.problem("not_found", "there is nothing at this address")
        case 405:
            return problems.method_not_allowed(request.method, _allowed_methods(request))
        case _:
            return None


def _allowed_methods(request: Request) -> str:
    """Of all routes at this address: the framework's own answer names those of the first one only."""
    # What the route that refused took for an id is none of another route's.
    scope = {**request.scope, "path_params": {}}
    routes: Sequence[BaseRoute] = request.app.state.addresses
    places = {method: _place({**scope, "method": method}, routes) for method in METHODS}
    found = [method for method, place in places.items() if place is not None]
    # An address that is written out is that resource, though its last word could be an id elsewhere.
    literal = [method for method in found if not places[method]]
    allowed = {*(literal or found)}
    # `HeadRequests` answers HEAD wherever GET is.
    return ", ".join(method for method in METHODS if method in allowed or (method == "HEAD" and "GET" in allowed))


def _place(scope: Scope, routes: Sequence[BaseRoute]) -> Mapping[str, object] | None:
    """The path parameters with which this method is served here; None if it is not."""
    for route in routes:
        match, found = route.matches(scope)
        if match is Match.FULL:
            return found.get("path_params", {})
    return None
