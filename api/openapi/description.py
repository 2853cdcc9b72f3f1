"""The machine-readable contract: what FastAPI cannot see because bodies and problems are made by hand."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from api.dependencies import Services
from api.http.bodies import SCHEMAS, refer
from api.openapi.answers import add_answers
from api.openapi.examples import add_examples
from api.openapi.refusals import OPEN_PATHS, add_refusals
from rhapsode.contract.base import Answer, RequestBody
from rhapsode.contract.jobs.events import Event
from rhapsode.contract.webhook_events import EVENTS, TEST_EVENT
from rhapsode.contract.webhook_payloads import WebhookPayload

_IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "a repeat under this key within 24 hours is answered as the first time, and nothing is done twice",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[ -~]+$"},
}

_SECURITY = {"type": "http", "scheme": "bearer", "description": "an API key; none on a server that has none"}

DESCRIPTION = """\
Narrations as jobs: a text in, speech out, however long it takes.

**Versions.** This is version 1, in every path. Fields, codes, event types and operations may be added to it at any
time, so ignore what you do not know. Nothing changes its meaning. Before a removal, a part is marked `deprecated`
here for at least six months, and its answers have the fields `Deprecation` (RFC 9745) and `Sunset` (RFC 8594).

**Errors** are problem documents (RFC 9457); each operation names the codes that it can answer with. Some
errors can come from any address, and close the connection: 400 for a request that is not HTTP; 408
(`request_timeout`) for one that is too slow; 431 (`headers_too_large`) for headers above 16 KiB; 503
(`too_many_connections`).
"""

router = APIRouter(include_in_schema=False)


@router.get("/openapi.json")
def get_description(request: Request, services: Services) -> Response:
    """In a separate thread: the first time takes a second, and other requests must not wait."""
    public = services.settings.public_url
    return JSONResponse(request.app.openapi() | ({"servers": [{"url": public}]} if public else {}))


def complete_openapi(app: FastAPI) -> None:
    """Makes `/openapi.json` the whole contract."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _described(app)
        return app.openapi_schema

    app.openapi = openapi


def _described(app: FastAPI) -> dict[str, Any]:
    document = get_openapi(title=app.title, version=app.version, routes=app.routes, description=DESCRIPTION)
    schemas: dict[str, Any] = document["components"]["schemas"]
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            if method == "post":
                _take_idempotency_key(operation)
            if path.startswith(OPEN_PATHS):
                operation["security"] = []
    add_refusals(document)
    add_answers(document)
    _add_links(document)
    add_webhooks(document)
    _open(schemas)
    schemas |= _lacking(document)
    add_examples(document)
    document["components"]["securitySchemes"] = {"apiKey": _SECURITY}
    document["security"] = [{"apiKey": []}, {}]
    return document


def _lacking(document: dict[str, Any]) -> dict[str, Any]:
    """The models of the contract that FastAPI has not met and the document refers to, and what a stream's `data` is."""
    named = {Event.__name__, *re.findall(r'"#/components/schemas/(\w+)"', json.dumps(document))}
    known = document["components"]["schemas"]
    named -= known.keys()
    answers = _schemas(Answer, "serialization", named)
    _open(answers)
    return answers | _told_apart(_schemas(RequestBody, "validation", named), known | answers)


def _open(answers: dict[str, Any]) -> None:
    """A request holds nothing unknown; an answer may, once a later version adds a field to it."""
    for schema in answers.values():
        if schema.get("additionalProperties") is False:
            del schema["additionalProperties"]


def _told_apart(bodies: dict[str, Any], answers: dict[str, Any]) -> dict[str, Any]:
    """What may be left out of a request is in every answer: a model of both is two schemas, `Output` and
    `OutputRequest`.
    """
    twice = [name for name, schema in bodies.items() if name in answers and schema != answers[name]]
    text = json.dumps(bodies)
    for name in twice:
        text = text.replace(json.dumps(SCHEMAS.format(model=name)), json.dumps(SCHEMAS.format(model=f"{name}Request")))
    schemas: dict[str, Any] = json.loads(text)
    for name in twice:
        schemas[f"{name}Request"] = schemas.pop(name) | {"title": f"{name}Request"}
    return schemas


def _schemas(base: type[BaseModel], mode: JsonSchemaMode, named: set[str]) -> dict[str, Any]:
    models: list[tuple[type[BaseModel], JsonSchemaMode]]
    models = [(each, mode) for each in _models(base) if each.__name__ in named]
    return models_json_schema(models, ref_template=SCHEMAS)[1]["$defs"]


def _models(base: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """Those of the contract alone: a client in the same process has its own."""
    for model in base.__subclasses__():
        if model.__module__.startswith("rhapsode.contract."):
            yield model
            yield from _models(model)


def _take_idempotency_key(operation: dict[str, Any]) -> None:
    """One description for routes that take the header and for those that are wrapped."""
    parameters = operation.setdefault("parameters", [])
    parameters[:] = [each for each in parameters if each["name"] != _IDEMPOTENCY_KEY["name"]] + [_IDEMPOTENCY_KEY]


_HEADERS: tuple[tuple[str, str], ...] = (
    ("webhook-id", "the same whenever this event is sent again: remember the ids that were dealt with"),
    ("webhook-timestamp", "Unix seconds of this attempt; refuse what is more than five minutes away"),
    ("webhook-signature", "`v1,` and Base64 of HMAC-SHA256 over `id.timestamp.body`; several while a secret changes"),
)


def add_webhooks(document: dict[str, Any]) -> None:
    document["webhooks"] = {event: {"post": _operation(event)} for event in sorted((*EVENTS, TEST_EVENT))}


def _operation(event: str) -> dict[str, Any]:
    return {
        "operationId": f"webhook.{event}",
        "tags": ["webhooks"],
        "summary": f"{event}, signed as Standard Webhooks 1.0 says",
        "security": [],
        "parameters": [
            {"name": name, "in": "header", "required": True, "description": text, "schema": {"type": "string"}}
            for name, text in _HEADERS
        ],
        "requestBody": {"required": True, "content": {"application/json": {"schema": refer(WebhookPayload)}}},
        "responses": {
            "2XX": {"description": "Taken; it is not sent again"},
            "410": {"description": "The endpoint is disabled"},
            "default": {"description": "Sent again, up to ten times within three days; `Retry-After` is honoured"},
        },
    }


WAYS: list[dict[str, Any]] = json.loads(Path(__file__).with_name("links.json").read_text(encoding="utf-8"))
"""From an operation's answer to others, with the parameters of all of these, by where each comes from."""


def _add_links(document: dict[str, Any]) -> None:
    """Which operation goes on with what another has made, for people, generators and tests."""
    operations = {each["operationId"]: each for path in document["paths"].values() for each in path.values()}
    for way in WAYS:
        links = operations[way["operation"]]["responses"][way["status"]].setdefault("links", {})
        links |= {target: {"operationId": target, "parameters": way["parameters"]} for target in way["targets"]}
